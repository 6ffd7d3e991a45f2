// Package client makes the clients of the AWS APIs.
//
// What it promises: the rest of the provider sees narrow interfaces and errors
// that are marked with sentinels of package apierr; retries, throttling,
// time-outs, credentials, endpoints and metrics live here and nowhere else.
//
// Calls are limited with the token buckets that AWS documents, so that few are
// throttled. A throttled response slows down the operation class that it belongs
// to, and nothing else; the call is retried as long as its caller can wait. No
// call waits for the limiters longer than half of its caller's time, or 30 s.
package client
