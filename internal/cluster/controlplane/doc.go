// Package controlplane provides the etcd and kube-apiserver binaries that the
// embedded cluster provider runs.
//
// Where nobody has put them on the machine, they come into a cache directory, once:
// downloaded from envtest's releases, or, without a network, compiled from pinned Go
// modules. A download has the pinned Kubernetes or, where envtest has not released that,
// the newest patch of its minor version; the apiserver reports which, and so do results.
// ENVTEST_INDEX_URL names another index of releases, such as a mirror, or is "off".
//
// The pins are the files under pin/: each pair NAME.mod and NAME.sum is the go.mod and
// go.sum of a small module of its own, because what is built is not imported, and
// because the version of etcd's client that kube-apiserver is made for differs from that
// of the etcd server. They do not carry the name go.mod so that they can be embedded.
//
// What holds:
//
//  1. A binary has its final name only when it is complete: it is made under a
//     temporary name, compared with its hash if it was downloaded, and renamed.
//  2. Processes that want the same binary at the same time make it once; the
//     others wait for the lock and say so. The lock belongs to the open file and
//     goes away with its process, however that ends.
//  3. Sources are verified against the committed checksums (-mod=readonly), archives
//     against the index.
//  4. A changed pin rebuilds: each binary has a stamp of what it was made from.
//  5. An index that does not answer within 5 s, an archive that is silent for 15 s or
//     anything wrong with either takes one line of progress, and the build follows.
//
// What does not: another Go release does not rebuild, a new release of envtest is not
// downloaded, and nothing is ever removed from the cache but half-finished work. To start
// over, delete the directory.
//
// envtest's own download is not used: it cannot be cancelled, has no time limits, and
// writes to the final names.
//
// To move to another version: in an empty directory copy NAME.mod to go.mod,
// edit the version (for Kubernetes also those of the replaced staging modules:
// v1.X.Y goes with v0.X.Y), run `go list -mod=mod -deps` on each tool of the
// module, and copy go.mod and go.sum back.
package controlplane
