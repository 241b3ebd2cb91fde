// Command k6 is k6 with the module k6/x/podchurn built in. See docs/load.md.
//
// k6 is under the AGPL, and so is this program; no other of this repository contains it.
package main

import (
	k6 "go.k6.io/k6/cmd"

	_ "github.com/watchbench/watchbench/loadgen/xk6" // registers k6/x/podchurn
)

func main() { k6.Execute() }
