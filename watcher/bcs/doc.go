// Package bcs has what a BCS platform offers a watcher besides storage.
//
// Discovery finds the servers of a BCS module in ZooKeeper: instances register as ephemeral
// sequential children of /bcs/services/endpoints/<module>, each with a ServerInfo as JSON (contract
// §8). A failure, a host that does not resolve or an ensemble that moved never ends it: it goes on
// trying, and what it last knew stays known.
//
// NetService asks a netservice every minute for the cluster's IP pool, in summary and in detail, and
// stores both answers (contract §5).
//
// The Alertor delivers Warning Events of Pods that somebody owns, through bcs-health (contract §6).
// It promises:
//
//  1. Observe never blocks: there is a queue of QueueLen alerts, and what finds it full
//     is dropped and counted.
//  2. The same warning about the same Pod is delivered once per convergence window.
//  3. A delivery that fails is tried again with growing pauses, at most Tries times.
//  4. Only Events that happened after the Alertor was made are delivered, so that a
//     restart does not repeat the past hour; the others are counted. Setting the clock
//     changes nothing about that.
package bcs
