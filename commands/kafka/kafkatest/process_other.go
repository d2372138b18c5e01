//go:build !linux

package kafkatest

import "syscall"

// ownGroup is nothing where the kernel cannot end a child with its parent: Close does.
func ownGroup() *syscall.SysProcAttr { return nil }
