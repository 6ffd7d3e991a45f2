package inventory

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vmware/govmomi/vapi/rest"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/simserver"
	cloudsim "github.com/multicloud-ccm/multicloud-ccm/test/cloudsim/vsphere"
)

// A poll whose connection breaks is made again with the same version: the inventory
// is not read again, and nothing that changed meanwhile is missed.
func TestBrokenPollMissesNothing(t *testing.T) {
	t.Parallel()
	cases := map[string]simserver.Fault{"before it is made": simserver.Drop(), "in its response": simserver.DropResponse()}
	for name, effect := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, cloudsim.VCenterSpec{})
			i := watch(t, v, Config{})
			v.Inject("WaitForUpdatesEx", simserver.First(2), effect)
			ok(t, v.VM("web-0").SetHostname("first"))
			ok(t, v.VM("web-1").SetHostname("second"))
			eventually(t, func() string {
				for _, host := range []string{"first", "second"} {
					if vms, err := i.Find(byName(host)); len(vms) != 1 {
						return host + " was not noticed: " + errorText(err)
					}
				}

				return ""
			})
			if got := calls(v); len(got) != 0 {
				t.Errorf("it took calls: %v", got)
			}
		})
	}
}

// However much changes, there are few polls, and the last change is noticed.
func TestBurstsOfChangesAreGathered(t *testing.T) {
	t.Parallel()
	const period = 200 * time.Millisecond
	cases := map[string]struct {
		reason  string
		prepare func(v *cloudsim.VCenter)
		change  bool
	}{
		"churn":      {"each poll is a calculation in the vCenter", func(*cloudsim.VCenter) {}, true},
		"early null": {"a vCenter may respond sooner than requested", func(v *cloudsim.VCenter) { v.SetEarlyNull(time.Millisecond) }, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := simulate(t, cloudsim.VCenterSpec{})
			tc.prepare(v)
			i := watch(t, v, Config{PollPeriod: period})
			vm := v.VM("web-0")
			began := time.Now()
			v.Reset()
			for n := 0; time.Since(began) < 5*period; n++ {
				if tc.change {
					ok(t, vm.SetHostname([]string{"even", "odd"}[n%2]))
				}
				time.Sleep(5 * time.Millisecond)
			}
			ok(t, vm.SetHostname("last"))
			eventually(t, func() string {
				if vms, err := i.Find(byName("last")); len(vms) != 1 {
					return "the last change was not noticed: " + errorText(err)
				}

				return ""
			})
			polls, most := v.Polls(), int(time.Since(began)/period)+2
			if polls > most {
				t.Errorf("%s: %d polls, want at most %d", tc.reason, polls, most)
			}
		})
	}
}

// scripted is a vCenter that creates what is requested, and responds to polls by a
// script.
type scripted struct {
	made atomic.Int32
	// before is called before each call; nil does nothing.
	before func(ctx context.Context) error
	poll   func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error)
}

func (s *scripted) RoundTrip(ctx context.Context, req, res soap.HasFault) error {
	if s.before != nil {
		if err := s.before(ctx); err != nil {
			return err
		}
	}
	made := Ref{Type: "PropertyCollector", Value: "made"}
	switch body := res.(type) {
	case *methods.CreatePropertyCollectorBody:
		s.made.Add(1)
		body.Res = &types.CreatePropertyCollectorResponse{Returnval: made}
	case *methods.CreateContainerViewBody:
		body.Res = &types.CreateContainerViewResponse{Returnval: Ref{Type: "ContainerView", Value: "made"}}
	case *methods.CreateFilterBody:
		body.Res = &types.CreateFilterResponse{Returnval: Ref{Type: "PropertyFilter", Value: "made"}}
	case *methods.WaitForUpdatesExBody:
		set, err := s.poll(ctx, req.(*methods.WaitForUpdatesExBody).Req)
		body.Res = &types.WaitForUpdatesExResponse{Returnval: set}

		return err
	case *methods.CurrentTimeBody:
		body.Res = &types.CurrentTimeResponse{Returnval: time.Now()}
	case *methods.DestroyPropertyCollectorBody:
		body.Res = &types.DestroyPropertyCollectorResponse{}
	case *methods.DestroyViewBody:
		body.Res = &types.DestroyViewResponse{}
	}

	return nil
}

func (s *scripted) SOAP(ctx context.Context, fn func(context.Context, *vim25.Client) error) error {
	return fn(ctx, &vim25.Client{RoundTripper: s, ServiceContent: types.ServiceContent{ViewManager: &Ref{}}})
}

func (s *scripted) REST(context.Context, func(context.Context, *rest.Client) error) error {
	return errRecorded
}

// follows runs an inventory of a scripted vCenter for a time.
func follows(s *scripted, cfg Config, d time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	defer cancel()
	New(s, cfg).Run(ctx)
}

// A vCenter that loses the feed again and again is read less and less often; one
// that loses it after some minutes is read soon.
func TestRestartsAreFewerAndFewer(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		lasts    time.Duration // each feed
		run      time.Duration
		min, max int32
	}{
		"at once":            {0, 10 * time.Minute, 10, 30},
		"after some minutes": {10 * time.Minute, 10 * time.Hour, 59, 61},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var began time.Time
				s := &scripted{}
				s.poll = func(_ context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
					if req.Version == "" {
						began = time.Now()

						return &types.UpdateSet{Version: "1"}, nil
					}
					time.Sleep(time.Duration(*req.Options.MaxWaitSeconds) * time.Second)
					if time.Since(began) >= tc.lasts {
						return nil, soap.WrapVimFault(&types.ManagedObjectNotFound{})
					}

					return nil, nil
				}
				follows(s, Config{RereadPeriod: 24 * time.Hour, Margin: time.Hour}, tc.run)
				if got := s.made.Load(); got < tc.min || got > tc.max {
					t.Errorf("%d feeds in %s, want %d to %d", got, tc.run, tc.min, tc.max)
				}
			})
		})
	}
}

// Polls that wait shorter because connections were cut, as by a restart of the
// vCenter, wait longer again when nothing cuts them.
func TestPollsWaitLongerAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		until := time.Now().Add(time.Minute)
		var wait time.Duration
		s := &scripted{}
		s.poll = func(_ context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
			if req.Version == "" {
				return &types.UpdateSet{Version: "1"}, nil
			}
			wait = time.Duration(*req.Options.MaxWaitSeconds) * time.Second
			if wait > 0 && time.Now().Before(until) {
				time.Sleep(min(wait, 3*time.Second))

				return nil, errRecorded
			}
			time.Sleep(wait)

			return nil, nil
		}
		follows(s, Config{RereadPeriod: 24 * time.Hour}, 30*time.Minute)
		if wait != 10*time.Second {
			t.Errorf("polls wait %s half an hour after the last one was cut, want 10 s", wait)
		}
	})
}

// A vCenter that hung in the middle of a poll is followed again no later than 15 s
// after it responds, and nothing is read again.
func TestHungVCenterIsFollowedSoon(t *testing.T) {
	t.Parallel()
	for _, hang := range []time.Duration{5 * time.Second, time.Minute, 10 * time.Minute} {
		t.Run(hang.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				from := time.Now().Add(time.Minute)
				until := from.Add(hang)
				var recovered time.Time
				s := hanging(from, until)
				follows(s, Config{Observe: func(status Status) {
					if recovered.IsZero() && status.Connected && status.LastResponse.After(until) {
						recovered = status.LastResponse
					}
				}}, 2*time.Minute+hang)
				if recovered.IsZero() || recovered.Sub(until) > 15*time.Second {
					t.Errorf("followed again after %s", recovered.Sub(until))
				}
				if got := s.made.Load(); got != 1 {
					t.Errorf("%d feeds, want the same one", got)
				}
			})
		})
	}
}

// hanging is a vCenter that does not respond for a time: calls that it has by then
// never get a response.
func hanging(from, until time.Time) *scripted {
	unresponsive := func(ctx context.Context) error {
		if now := time.Now(); now.Before(from) || !now.Before(until) {
			return nil
		}
		<-ctx.Done()

		return ctx.Err()
	}
	s := &scripted{before: unresponsive}
	s.poll = func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
		if req.Version == "" {
			return &types.UpdateSet{Version: "1"}, nil
		}
		end := time.Now().Add(time.Duration(*req.Options.MaxWaitSeconds) * time.Second)
		if time.Now().Before(from) && !end.Before(from) { // it is lost
			<-ctx.Done()

			return nil, ctx.Err()
		}
		time.Sleep(time.Until(end))

		return nil, nil
	}

	return s
}

// A VM counts as missing from when its vCenter has been followed without a break. A
// busy vCenter whose responses are late is followed, and one that did not respond to
// a poll for more than half a minute is not.
func TestLateResponsesAreNoBreak(t *testing.T) {
	t.Parallel()
	const run = 10 * time.Minute
	cases := map[string]struct {
		reason string
		script func(began time.Time) *scripted
		// complete is how long the inventory has been complete at the end.
		min, max time.Duration
	}{
		"Busy": {
			"each poll takes 35 s, and none fails once the poller waits that long",
			func(time.Time) *scripted { return slow(35 * time.Second) }, 6 * time.Minute, run,
		},
		"Cut": {
			"a poll that fails is made again at once",
			func(time.Time) *scripted {
				s, polls := slow(10*time.Second), 0
				respond := s.poll
				s.poll = func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
					if polls++; req.Version != "" && polls%2 == 0 {
						time.Sleep(time.Second)

						return nil, errRecorded
					}

					return respond(ctx, req)
				}

				return s
			}, 9 * time.Minute, run,
		},
		"Hung": {
			"nothing was received for a minute",
			func(began time.Time) *scripted { return hanging(began.Add(5*time.Minute), began.Add(6*time.Minute)) },
			3 * time.Minute, 5 * time.Minute,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), run)
				defer cancel()
				i := New(tc.script(time.Now()), Config{RereadPeriod: 24 * time.Hour})
				i.Run(ctx)
				complete := i.Absence(byID(uuid)).Complete
				if got := time.Since(complete); complete.IsZero() || got < tc.min || got > tc.max {
					t.Errorf("%s: the inventory has been complete for %s, want %s to %s", tc.reason, got, tc.min, tc.max)
				}
			})
		})
	}
}

// slow is a vCenter that responds to each poll but the first after a time.
func slow(d time.Duration) *scripted {
	s := &scripted{}
	s.poll = func(ctx context.Context, req *types.WaitForUpdatesEx) (*types.UpdateSet, error) {
		if req.Version == "" {
			return &types.UpdateSet{Version: "1"}, nil
		}
		select {
		case <-time.After(d):
			return nil, nil
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}

	return s
}
