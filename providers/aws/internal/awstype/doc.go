// Package awstype converts between plain Go values and types of the AWS SDK.
//
// What it promises: lists made from maps are in the order of the keys; nothing
// in this package calls AWS.
package awstype
