package main

import "golang.org/x/sys/unix"

// dieWithParent ends this process when the test run that started it ends, however that happens.
func dieWithParent() {
	_ = unix.Prctl(unix.PR_SET_PDEATHSIG, uintptr(unix.SIGKILL), 0, 0, 0)
}
