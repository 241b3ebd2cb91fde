// Package bcsapi holds what bcs-storage and its clients say to each other:
// URLs, the response envelope, result codes and the Event record of the v1 HTTP
// API. It is shared by the watcher's storage client and by the mock server, so
// that a name or a number of the contract stands in one place.
//
// Source of the facts: TencentBlueKing/bk-bcs, snapshot ae26c0a0d (mid-2026).
package bcsapi
