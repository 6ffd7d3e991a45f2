// Package config reads cloud-config files: it finds out which provider a file
// is for, decodes the file strictly, and reports where each effective value
// came from.
//
// What it promises:
//
//   - One look at the bytes decides whether a file is gcfg or YAML, for the
//     choice of the provider and for the provider itself alike.
//   - Every problem names file, line, column and key, all problems are reported
//     together, and a mistyped name comes with the nearest known one.
//   - An unknown name is a warning, or an error with
//     [Multicloud] strict = true: files made for an upstream controller start.
//   - The value of a [Secret] never appears in a message, a log line or a dump.
//
// gcfg does the decoding, entry by entry, so that each message has a position
// and one bad value does not hide the next.
package config
