// Package faultlist is what the two fault grammars of this module, storage's and the
// watches', have in common: terms separated by commas,
//
//	effect(arguments):probability
//
// the times at which a fault may fire (from, for, every), and the list of the faults in
// force, as it is served over HTTP.
package faultlist
