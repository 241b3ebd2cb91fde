// Command fetch puts the pinned Apache ECharts script beside package assets, to be
// embedded by the next build. It asks npm for the package, so that the user's npm
// configuration (mirror, proxy) applies, and accepts only the pinned digests.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	dir := flag.String("dir", "internal/assets", "folder of package assets")
	optional := flag.Bool("optional", false, "succeed with a warning when npm or the network is missing; a wrong digest always fails")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *dir, *optional, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fetch:", err)
		os.Exit(1)
	}
}
