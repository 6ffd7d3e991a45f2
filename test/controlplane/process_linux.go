package controlplane

import "syscall"

// childAttributes makes the kernel end a child together with its parent, and
// keeps an interrupt typed at the terminal from reaching the child first: it is
// the parent's to stop.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
