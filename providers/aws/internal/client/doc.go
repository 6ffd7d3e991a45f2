// Package client makes the clients of the AWS APIs.
//
// What it promises: the rest of the provider sees narrow interfaces and errors
// that are marked with sentinels of package apierr; retries, throttling,
// time-outs, credentials, endpoints and metrics live here and nowhere else.
package client
