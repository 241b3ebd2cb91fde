// Package controlplane provides the etcd and kube-apiserver binaries that the
// embedded cluster provider runs.
//
// Where nobody has put them on the machine, they are compiled from pinned Go
// modules into a cache directory, once. The pins are the files under pin/:
// each pair NAME.mod and NAME.sum is the go.mod and go.sum of a small module of
// its own, because what is built is not imported, and because the version of
// etcd's client that kube-apiserver is made for differs from that of the etcd
// server. They do not carry the name go.mod so that they can be embedded: a
// directory with a go.mod is another module, and go:embed stops there. An
// embedded pin makes the build reproducible from the finished binary alone,
// without a checkout.
//
// What holds:
//
//  1. A binary has its final name only when it is complete: it is built under a
//     temporary name and renamed. A build that was cut off leaves nothing that
//     would be taken for a result.
//  2. Processes that want the same binary at the same time build it once; the
//     others wait for the lock and say so. The lock belongs to the open file and
//     goes away with its process, however that ends.
//  3. Sources are verified against the committed checksums (-mod=readonly).
//  4. A changed pin rebuilds: each binary has a stamp of what it was built from.
//
// What does not: another Go release does not rebuild, and nothing is ever
// removed from the cache but half-finished builds. To start over, delete the
// directory.
//
// To move to another version: in an empty directory copy NAME.mod to go.mod,
// edit the version (for Kubernetes also those of the replaced staging modules:
// v1.X.Y goes with v0.X.Y), run `go list -mod=mod -deps` on each tool of the
// module, and copy go.mod and go.sum back.
package controlplane
