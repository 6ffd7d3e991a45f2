//go:build unix && !linux

package process

import "syscall"

// childAttributes keeps an interrupt typed at the terminal from reaching a
// child first: it is the parent's to stop.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true}
}
