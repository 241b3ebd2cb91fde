// Package pod runs the parties of a run as Pods: what a process is on one machine, a Pod is in a cluster.
//
// A party in a cluster is two things. Its stand-in (Standin, watchbench pod) is the local process that the runner
// starts in its place. Its Job has the party's image and an agent (Agent, watchbench agent), which starts the
// party. Stand-in and agent talk HTTP through the API server's port forwarding; the agent listens on the Pod's
// loopback only. So:
//
//  1. Input, output, files and the exit code are those of a local process, and the first signal is the party's SIGTERM.
//     Over connections that break nothing is lost and nothing is double: output has offsets, input has numbers. A
//     signal that ends the party is told as 128 and its number, as shells have it. What listens in the Pod is asked
//     through the stand-in, which is an HTTP proxy.
//  2. A Pod that is evicted, killed for its memory, restarted, deleted, or that cannot be reached for Silence, is not
//     an end of the party: the stand-in ends with ExitLost and says which. The Pod is never started a second time.
//  3. Nothing stays. A stand-in removes its Job, and Clean what is left. If both are killed, an agent that nobody
//     asks for Silence has its party end (a generator then removes its namespaces), a Job whose Pod never ran meets its
//     deadline, and the cluster removes Jobs that have ended: after five minutes there are none.
//  4. Pods meet the restricted Pod Security level, and have a ServiceAccount only if the party talks to the API server.
//     RBAC has the least rights; Preflight says within 30 s what a cluster lacks, and whether its images are of another
//     version, as bad input.
//
// Traffic of the port forwarding is loopback inside the Pod and not counted.
//
// Not promised: that rights end at the generator's own namespaces, whose names RBAC cannot restrict; that a generator
// that was killed has removed its namespaces; that ended Jobs go in a cluster without the TTL controller. Whoever may
// forward ports in the namespace has the rights of its Pods, as with pods/exec; a user of this machine who finds the
// port of a stand-in's proxy reaches what listens in its Pod, and the files of its party's folder, but no others.
package pod
