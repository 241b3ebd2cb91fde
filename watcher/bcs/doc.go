// Package bcs has what a BCS platform offers a watcher besides storage.
//
// Discovery finds the servers of a BCS module in ZooKeeper: instances register as ephemeral
// sequential children of /bcs/services/endpoints/<module>, each with a ServerInfo as JSON (contract
// §8). A failure, a host that does not resolve or an ensemble that moved never ends it: it goes on
// trying, and what it last knew stays known.
//
// NetService asks a netservice every minute for the cluster's IP pool, in summary and in detail, and
// stores both answers (contract §5).
package bcs
