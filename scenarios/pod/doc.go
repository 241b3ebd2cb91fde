// Package pod runs the parties of a run as Pods: what a process is on one machine, a Pod is in a cluster.
//
// A party in a cluster is two things. Its stand-in (Standin, watchbench pod) is the local process that the runner
// starts in its place. Its Job has the party's image and an agent (Agent, watchbench agent), which starts the
// party. Stand-in and agent talk HTTP through the API server's port forwarding; the agent listens on the Pod's
// loopback only. So:
//
//  1. Input, output, files and exit code behave as with a local process, and the first signal is the party's SIGTERM.
//     Broken connections lose and repeat nothing: output has offsets, input has sequence numbers. A signal that ends
//     the party becomes the exit code 128 + signal, as in a shell. Requests to the Pod's ports go through the
//     stand-in, an HTTP proxy.
//  2. A Pod that is evicted, killed for its memory, restarted, deleted, or out of reach for Silence is not an end of
//     the party: the stand-in exits with ExitLost and says why. The Pod is never started again.
//  3. Nothing is left behind. A stand-in removes its Job, and Clean the rest. If both are killed, an agent without
//     requests for Silence stops its party (a generator then removes its namespaces), a Job whose Pod never ran
//     reaches its deadline, and the cluster removes finished Jobs: after five minutes there are none.
//  4. Pods meet the restricted Pod Security level, and have a ServiceAccount only if the party talks to the API server.
//     RBAC grants the least rights; Preflight reports within 30 s, as bad input, what a cluster lacks, and images of
//     another version.
//
// Port-forwarded traffic is loopback inside the Pod, and not counted.
//
// Not promised: that rights end at the generator's own namespaces, whose names RBAC cannot restrict; that a generator
// that was killed has removed its namespaces; that finished Jobs go in a cluster without the TTL controller. Whoever
// may forward ports in the namespace has the rights of its Pods, as with pods/exec; a user of this machine who finds
// the port of a stand-in's proxy reaches what listens in its Pod, and the files of its party's folder, but no others.
package pod
