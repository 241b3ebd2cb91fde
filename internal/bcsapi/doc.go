// Package bcsapi defines the v1 HTTP API of bcs-storage: URLs, the response envelope,
// result codes and the Event record. The watcher's storage client and the mock server
// share it, so that each name and number of the contract is defined once.
//
// Source of the facts: TencentBlueKing/bk-bcs, snapshot ae26c0a0d (mid-2026).
package bcsapi
