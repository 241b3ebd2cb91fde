// Package cluster provides the Kubernetes control planes that watchbench
// measures against, behind one interface:
//
//   - embedded: etcd and kube-apiserver as child processes, through envtest.
//     Nothing needs to be installed; see package controlplane for where the
//     binaries come from.
//   - kind: a cluster in Docker, through sigs.k8s.io/kind as a library.
//   - kubeconfig: a cluster that is already there.
//   - simulated: none; the load generator simulates an apiserver for each load.
//
// What holds for every provider:
//
//  1. Up returns a usable cluster or an error, never both, and after an error or
//     a cancelled context nothing that Up started is left.
//  2. Cluster.Kubeconfig is a file of its own, mode 0600, with exactly one
//     context, which is current. The user's own kubeconfig is never written.
//  3. Down is idempotent and removes what Up created, and only that: a
//     cluster behind a kubeconfig stays as it is. (envtest's reservations of ports in the
//     user's cache go with a later start.)
//  4. Errors that the user can fix, by another argument or outside the program,
//     are *badinput.Error and say how.
//  5. If the process that called Up dies without calling Down, SIGKILL included,
//     a watchdog ends what it started and removes its directory, within seconds.
//     It is a shell that waits for the end of a pipe, so it works where there is a
//     POSIX shell with ps or /proc, and it holds unless the watchdog itself is
//     killed, too. A cluster that is up with Detach or Keep has none.
//
// Several embedded clusters may run at a time, in one process or in many: each has
// its own ports, its own directory and its own certificates. Kind clusters differ by
// name.
//
// With EmbeddedOptions.Controllers the embedded control plane has a controller manager,
// a scheduler and kwok, which plays the kubelets of the nodes with KwokLabel; each has
// its own client certificate. Admission of service accounts is off all the same, so that
// a pod can be made at once in a namespace that has just been made.
//
// What does not hold: without them the embedded control plane has no controllers and no
// scheduler, so a deleted namespace stays in Terminating until its finalizer is
// removed (owned.DeleteNamespace does that), nothing is garbage-collected by
// owner reference, and pods stay where they were created. Its etcd serves plain
// HTTP on loopback: other users of the machine can read it. It never holds
// anything but generated objects.
package cluster
