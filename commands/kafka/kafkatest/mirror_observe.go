package kafkatest

import "github.com/twmb/franz-go/pkg/kmsg"

// protocol is what the requests of a group's members told about it.
type protocol struct {
	consumer         bool // KIP-848
	kind, name       string
	leader           string
	session, rebalan int32 // timeouts in milliseconds
}

// install makes the cluster show its requests. Observers handle nothing, so they stay.
func (m *mirror) install() {
	for _, key := range []kmsg.Key{
		kmsg.OffsetCommit, kmsg.TxnOffsetCommit, kmsg.EndTxn, kmsg.OffsetDelete, kmsg.DeleteGroups,
		kmsg.JoinGroup, kmsg.SyncGroup, kmsg.LeaveGroup, kmsg.ConsumerGroupHeartbeat, kmsg.DeleteTopics,
	} {
		m.kafka.ControlKey(key.Int16(), m.observe)
	}
}

// observe runs before the cluster handles a request. Requests by topic id have no names yet,
// so only groups are taken from them.
func (m *mirror) observe(req kmsg.Request) (kmsg.Response, error, bool) { //nolint:revive // the signature is kfake's
	groups := m.groupsOf(req)
	for waiting := m.anyQueued(groups); waiting != nil; waiting = m.anyQueued(groups) {
		m.kafka.SleepControl(func() { <-waiting })
	}
	m.enqueue(groups)
	return nil, nil, false
}

// groupsOf are the groups that a request can change, remembering what it says of them.
func (m *mirror) groupsOf(req kmsg.Request) []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r := req.(type) {
	case *kmsg.OffsetCommitRequest:
		return []string{r.Group}
	case *kmsg.OffsetDeleteRequest:
		return []string{r.Group}
	case *kmsg.DeleteGroupsRequest:
		return r.Groups
	case *kmsg.LeaveGroupRequest:
		return []string{r.Group}
	case *kmsg.JoinGroupRequest:
		p := m.protocolOf(r.Group)
		p.kind, p.session, p.rebalan = r.ProtocolType, r.SessionTimeoutMillis, r.RebalanceTimeoutMillis
		if len(r.Protocols) > 0 {
			p.name = r.Protocols[0].Name
		}
		return []string{r.Group}
	case *kmsg.SyncGroupRequest:
		if len(r.GroupAssignment) > 0 {
			m.protocolOf(r.Group).leader = r.MemberID
		}
		return []string{r.Group}
	case *kmsg.ConsumerGroupHeartbeatRequest:
		p := m.protocolOf(r.Group)
		p.consumer = true
		if r.RebalanceTimeoutMillis > 0 {
			p.rebalan = r.RebalanceTimeoutMillis
		}
		return []string{r.Group}
	case *kmsg.TxnOffsetCommitRequest:
		if m.txns[r.TransactionalID] == nil {
			m.txns[r.TransactionalID] = make(map[string]struct{})
		}
		m.txns[r.TransactionalID][r.Group] = struct{}{}
		return []string{r.Group}
	case *kmsg.EndTxnRequest:
		groups := keys(m.txns[r.TransactionalID])
		delete(m.txns, r.TransactionalID)
		return groups
	case *kmsg.DeleteTopicsRequest:
		return keys(m.seen)
	}
	return nil
}

func (m *mirror) protocolOf(group string) *protocol {
	p := m.seen[group]
	if p == nil {
		p = new(protocol)
		m.seen[group] = p
	}
	return p
}

// anyQueued is closed when the first of the groups that is still queued has been read; nil
// when none is.
func (m *mirror) anyQueued(groups []string) <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil
	}
	for _, g := range groups {
		if ch := m.queued[g]; ch != nil {
			return ch
		}
	}
	return nil
}
