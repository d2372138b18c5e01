package kafkatest

import "syscall"

// ownGroup puts a child into a process group of its own, so that a Ctrl-C on the test's
// terminal does not reach it before Close does, and has the kernel kill it when the test
// binary dies without closing it.
func ownGroup() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
