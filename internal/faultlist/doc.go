// Package faultlist holds the common part of this module's two fault grammars, storage's and the watches': terms
// separated by commas,
//
//	effect(arguments):probability
//
// the times at which a fault may fire (from, for, every), and the list of the faults in force, as it is served over
// HTTP.
package faultlist
