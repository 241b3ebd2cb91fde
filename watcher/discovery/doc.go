// Package discovery finds the servers of a BCS module in ZooKeeper: instances
// register as ephemeral sequential children of
// /bcs/services/endpoints/<module>, each with a ServerInfo as JSON (contract §8).
//
// A failure, a host that does not resolve or an ensemble that moved never ends it: it goes on trying, and what it last
// knew stays known.
package discovery
