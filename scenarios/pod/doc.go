// Package pod runs the parties of a run as Pods: what a process is on one machine, a Pod is in a cluster.
//
// A party in a cluster is three things. Its stand-in (Standin, watchbench pod) is the local process that the runner
// starts in its place. Its Job has the party's image and an agent (Agent, watchbench agent), which starts the party. The
// run's anchor (Anchor) is a Job that owns all the others. Stand-in and agent talk HTTP through the API server's port
// forwarding; the Pod listens on loopback only. So:
//
//  1. Input, output, signals, files and the exit code are those of a local process. Over connections that break nothing
//     is lost and nothing is double: each byte has an offset, each signal a number. A signal that ends the party is told
//     as 128 and its number, as shells have it.
//  2. A Pod that is evicted, killed for its memory, restarted, deleted, or that cannot be reached for Silence, is not an
//     end of the party: the stand-in ends with ExitLost and says which. The Pod is never started a second time.
//  3. Nothing stays. A stand-in removes its Job; an agent that nobody asks for Silence has its party end (a generator
//     then removes its namespaces); an anchor that nobody asks for AnchorSilence ends, and the cluster removes what it
//     owns. A runner and stand-ins that are killed leave nothing after five minutes.
//  4. Pods meet the restricted Pod Security level, and have a ServiceAccount only if the party talks to the API server.
//     RBAC prints the least rights; Preflight says within 30 s what a cluster lacks, as bad input.
//
// Usage is the party's, by the definitions of a local process; beside it stands what the kubelet reads, which includes
// the agent. Traffic of the port forwarding is loopback inside the Pod and not counted.
//
// Not promised: that rights end at the generator's own namespaces, whose names RBAC cannot restrict; that a generator
// that was killed has removed its namespaces.
package pod
