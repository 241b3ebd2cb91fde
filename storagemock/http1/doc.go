// Package http1 is an HTTP/1.1 server loop for the mock. It exists for two
// reasons: a mock must be able to misbehave below HTTP (reset, cut a body short,
// trickle, say nothing), and its own cost must stay far below that of what is
// measured with it; net/http makes the first awkward and spends three times the
// CPU per request.
//
// What it promises:
//
//  1. Requests of one connection are served one after the other; pipelined ones
//     wait.
//  2. Keep-alive, Connection: close, HTTP/1.0, chunked bodies, Expect:
//     100-continue, absolute-form targets and any byte but space and control
//     characters in a path are understood. The path is handed over as it was sent.
//  3. A head of more than MaxHead bytes, a body of more than Limits.Body, or what
//     is not HTTP gets a 4xx answer and the connection is closed.
//  4. A slow sender of a head or a body is cut off after Limits.ReadTimeout; an
//     idle connection may stay.
//  5. A panic in the handler drops that connection, is reported, and harms no
//     other.
//  6. Run returns after every connection's goroutine has ended: at once for idle
//     ones, after Limits.Grace at the latest for the others.
//
// Not supported: HTTP/2, upgrades, trailers (read and dropped), multipart.
package http1
