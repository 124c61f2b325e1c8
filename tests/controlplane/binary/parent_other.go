//go:build !linux

package main

// dieWithParent does nothing where the system has no such signal; the fixture stops what it started.
func dieWithParent() {}
