// Package watchproxy stands between a watcher and a real apiserver and lets the
// watch side fail; see package watchfault for what it can do.
//
// It promises:
//
//  1. Without a fault in force, everything passes as the apiserver and the client
//     sent it, frame by frame and without delay. Watches that accept other encodings
//     beside JSON are asked for in JSON.
//  2. Each connection of a client's watch is one of the proxy's own to the
//     apiserver, so that a slow reader here is a slow reader there.
//  3. While connections are refused nobody listens: they fail as they would if the
//     apiserver's process were gone, and open ones are reset.
//  4. Requests need the token in the path of the written kubeconfig's server: the
//     proxy uses the rights of its own kubeconfig, unless it is set to
//     pass on what requests say of their sender. It listens on loopback only.
//  5. Run returns after all its goroutines have ended.
//
// If the apiserver itself cannot be reached, the client's connection is reset.
package watchproxy
