// Package pod runs a party of a run as a Pod.
package pod
