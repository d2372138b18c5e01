package kafkatest

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// process is a running program whose output goes to a file.
type process struct {
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when it ended; err is set then
	err  error
}

// startProcess starts a program and appends its output to the log file.
func startProcess(log string, name string, args ...string) (*process, error) {
	out, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	p := &process{cmd: exec.Command(name, args...), log: log, done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.SysProcAttr = out, out, ownGroup()
	started := make(chan error)
	go func() {
		defer func() { _ = out.Close() }()
		// The kernel's promise to end the child is bound to the thread that started it, so
		// this one is held until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			p.err = p.cmd.Wait()
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// stop asks the program to end, waits for it as long as grace, then kills it. It returns when
// the program is gone; one that had to be killed is an error.
func (p *process) stop(grace time.Duration) error {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // one that ended already is fine
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-p.done:
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("process %d did not end within %s and was killed", p.cmd.Process.Pid, grace)
	}
}

// kill ends the program at once and returns when it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

// logTail is the end of what the program wrote.
func (p *process) logTail() string {
	out, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return tail(out)
}
