package snapshot

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/apierr"
)

// TestFindByAlias: whether objects are read alone, known or listed, all that have an
// alias are found.
func TestFindByAlias(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s := c.open()
		for _, o := range []object{{id: "a", name: "one"}, {id: "b", name: "twin"}, {id: "c", name: "twin"}} {
			c.put(o)
		}
		for _, round := range []struct {
			name  string
			calls int
		}{
			{"alone", 3},
			{"known", 0},
			{"listed", 1}, // for the one that no list has
		} {
			got := c.calls(func() {
				for name, want := range map[string][]string{"one": {"a"}, "twin": {"b", "c"}, "none": nil} {
					found, err := s.FindByAlias(t.Context(), name)
					var keys []string
					for _, o := range found {
						keys = append(keys, o.id)
					}
					slices.Sort(keys)
					if diff := cmp.Diff(want, keys); diff != "" || err != nil {
						t.Errorf("%s: %s: %v (-want +got):\n%s", round.name, name, err, diff)
					}
				}
			})
			if got != round.calls {
				t.Errorf("%s: %d calls", round.name, got)
			}
			if round.name == "known" {
				time.Sleep(maxAge)
				get(t, s, c.add(maxKeys+1), maxKeys+1)
			}
		}
		before := c.total()
		if found, err := s.Find(t.Context(), "a"); err != nil || found == nil || c.total() != before {
			t.Errorf("what was found by alias is not known by key: %v, %v", found, err)
		}
	})
}

// TestNewerThanTheList: what was read after the list hides that of the list.
func TestNewerThanTheList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s, keys := c.open(), c.add(maxKeys+1)
		get(t, s, keys, len(keys))
		time.Sleep(time.Second)
		c.put(object{id: keys[0], state: "stopped"})
		c.remove(keys[1])
		for _, key := range keys[:2] {
			read := func(ctx context.Context) (*object, error) {
				found, err := c.get(ctx, []string{key})
				if len(found) == 0 {
					return nil, err
				}

				return found[0], err
			}
			confirmed, err := s.Confirm(t.Context(), key, read)
			if exists := key == keys[0]; err != nil || (confirmed != nil) != exists {
				t.Errorf("confirm %s: %v, %v", key, confirmed, err)
			}
			if found, err := s.Find(t.Context(), key); err != nil || found != confirmed {
				t.Errorf("find %s: want what was confirmed, got %v, %v", key, found, err)
			}
		}
		if n := c.total(); n != 3 {
			t.Errorf("want 3 calls, got %d", n)
		}
		failed := func(context.Context) (*object, error) { return nil, errBroken }
		if _, err := s.Confirm(t.Context(), keys[2], failed); !errors.Is(err, errBroken) {
			t.Errorf("want %v, got %v", errBroken, err)
		}
		if found, err := s.Find(t.Context(), keys[2]); err != nil || found == nil {
			t.Errorf("a failure proves nothing: got %v, %v", found, err)
		}
	})
}

// TestConfirmByAlias: what is read is known afterwards, also that there is none, and
// hides what was listed before. A failure changes nothing.
func TestConfirmByAlias(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s := c.open()
		c.put(object{id: "a", name: "n"})
		get(t, s, c.add(maxKeys+1), maxKeys+1)
		if got := c.calls(func() {
			for _, want := range [][]*object{nil, {{id: "b", name: "n"}, {id: "c", name: "n"}}} {
				time.Sleep(time.Second)
				for _, fails := range []error{nil, errBroken} {
					got, err := s.ConfirmByAlias(t.Context(), "n", func(context.Context) ([]*object, error) { return want, fails })
					if !errors.Is(err, fails) || len(got) != len(want) && fails == nil {
						t.Errorf("got %v, %v", got, err)
					}
					if found, err := s.FindByAlias(t.Context(), "n"); err != nil || len(found) != len(want) {
						t.Errorf("find: want %v, got %v, %v", want, found, err)
					}
				}
			}
		}); got != 0 {
			t.Errorf("%d calls", got)
		}
	})
}

// TestRefresh: objects are read whatever is known, and known afterwards.
func TestRefresh(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s, keys := c.open(), c.add(2)
		get(t, s, keys, 2)
		c.put(object{id: keys[0], state: "running"})
		c.remove(keys[1])
		if got := c.calls(func() {
			found, err := s.Refresh(t.Context(), keys)
			if err != nil || len(found) != 1 || found[keys[0]].state != "running" {
				t.Errorf("got %v, %v", found, err)
			}
			get(t, s, keys, 1)
		}); got != 1 {
			t.Errorf("%d calls", got)
		}
		if got := c.calls(func() {
			if found, err := s.Refresh(t.Context(), nil); err != nil || len(found) != 0 {
				t.Errorf("nothing: %v, %v", found, err)
			}
		}); got != 0 {
			t.Errorf("nothing costs %d calls", got)
		}
		c.inject(takes(0, errBroken))
		if _, err := s.Refresh(t.Context(), keys); !errors.Is(err, errBroken) {
			t.Errorf("want %v, got %v", errBroken, err)
		}
	})
}

// TestPeek: the last list, if it is complete and young enough, without a call.
func TestPeek(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(100)
		s, keys := c.open(), c.add(maxKeys+1)
		if s.Peek(time.Hour) != nil {
			t.Error("nothing has been listed")
		}
		c.inject(func(_ context.Context, r request) error {
			if r.operation == listPage && c.count(listPage) == 2 {
				return errBroken
			}

			return nil
		})
		get(t, s, keys, len(keys))
		if s.Peek(time.Hour) != nil {
			t.Error("half a list is no list")
		}
		time.Sleep(maxAge)
		get(t, s, keys, len(keys))
		time.Sleep(time.Minute)
		before := c.total()
		if got := len(s.Peek(time.Hour)); got != len(keys) || s.Peek(time.Minute) != nil || c.total() != before {
			t.Errorf("got %d objects, %d calls", got, c.total()-before)
		}
	})
}

// TestFailureIsShared: a failure is an error for all who wait for the call, and none
// of them makes another one.
func TestFailureIsShared(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s, keys := c.open(), c.add(20)
		c.inject(takes(time.Second, errBroken))
		for name, query := range map[string]func(key string) error{
			"find": func(key string) error {
				_, err := s.Find(t.Context(), key)

				return err
			},
			"get": func(key string) error {
				_, err := s.Get(t.Context(), []string{key})

				return err
			},
		} {
			got := c.calls(func() {
				var all sync.WaitGroup
				for _, key := range keys {
					all.Go(func() {
						if err := query(key); !errors.Is(err, errBroken) {
							t.Errorf("%s: want %v, got %v", name, errBroken, err)
						}
					})
				}
				all.Wait()
			})
			if got != 1 {
				t.Errorf("%s: %d calls", name, got)
			}
			time.Sleep(maxAge)
		}
		c.inject(nil)
		get(t, s, keys, len(keys))
	})
}

// TestDeadlineOfACallerIsItsOwn: of callers that want the same objects, those that
// give up do not end the call for the others (FW-NODE-14).
func TestDeadlineOfACallerIsItsOwn(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"find", "get"} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newCloud(1000)
				s, keys := c.open(), c.add(2)
				c.inject(takes(15*time.Second, nil))
				query := func(ctx context.Context) error {
					if how == "find" {
						_, err := s.Find(ctx, keys[0])

						return err
					}
					_, err := s.Get(ctx, keys)

					return err
				}
				var all sync.WaitGroup
				for _, want := range []struct {
					after time.Duration
					err   error
				}{{12 * time.Second, context.DeadlineExceeded}, {time.Minute, nil}, {time.Second, context.DeadlineExceeded}} {
					all.Go(func() {
						ctx, cancel := context.WithTimeout(t.Context(), want.after)
						defer cancel()
						if err := query(ctx); !errors.Is(err, want.err) {
							t.Errorf("the caller that waits %s: %v", want.after, err)
						}
					})
					synctest.Wait()
				}
				all.Wait()
				if n := c.total(); n != 1 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

// TestFailedList: where the list fails, whatever the reason, objects are read by key or
// alias, without those whose page had come. The list is not repeated before its age.
func TestFailedList(t *testing.T) {
	t.Parallel()
	const objects, page = 450, 150
	for name, tc := range map[string]struct {
		reason string
		from   int
		err    error
		// lists, keys and aliases are the calls.
		lists, keys, aliases int
	}{
		"no page":          {"the list takes the cloud too long", 1, errNoResponse, 1, 3, 3},
		"the third page":   {"two pages had come; an alias may be in the last one, too", 3, errNoResponse, 3, 1, 3},
		"a timeout":        {"it took too long", 1, context.DeadlineExceeded, 1, 3, 3},
		"denied":           {"single objects may be allowed", 1, apierr.ErrDenied, 1, 3, 3},
		"throttled page 3": {"single objects may cost less", 3, apierr.ErrThrottled, 3, 1, 3},
	} {
		run := func(t *testing.T, operation string, want int, query func(context.Context, *Snapshot[object], []string) (int, error)) {
			t.Helper()
			synctest.Test(t, func(t *testing.T) {
				var reports []int
				c := newCloud(page)
				s := c.open(func(o *Options) {
					o.ListFailed = func(_ context.Context, listed int, _ error) { reports = append(reports, listed) }
				})
				keys := c.add(objects)
				c.inject(func(_ context.Context, r request) error {
					if r.operation == listPage && c.count(listPage) >= tc.from {
						return tc.err
					}

					return nil
				})
				for range 2 {
					if n, err := query(t.Context(), s, keys); err != nil || n != objects {
						t.Errorf("%s: %d objects, %v", tc.reason, n, err)
					}
					time.Sleep(maxAge / 3)
				}
				if lists, calls := c.count(listPage), c.count(operation); lists != tc.lists || calls != want {
					t.Errorf("%s: %d pages, %d calls", tc.reason, lists, calls)
				}
				if diff := cmp.Diff([]int{(tc.from - 1) * page}, reports); diff != "" {
					t.Errorf("%s: objects of failed lists (-want +got):\n%s", tc.reason, diff)
				}
			})
		}
		t.Run(name+" keys", func(t *testing.T) {
			t.Parallel()
			run(t, getKeys, tc.keys, func(ctx context.Context, s *Snapshot[object], keys []string) (int, error) {
				found, err := s.Get(ctx, keys)

				return len(found), err
			})
		})
		t.Run(name+" aliases", func(t *testing.T) {
			t.Parallel()
			run(t, getByName, tc.aliases, func(ctx context.Context, s *Snapshot[object], keys []string) (int, error) {
				names := make([]string, len(keys))
				for i, key := range keys {
					names[i] = "name-of-" + key
				}
				found, err := s.getByAlias(ctx, names)
				for _, name := range names {
					if err == nil && len(found[name]) != 1 {
						t.Errorf("%d objects have the name %s", len(found[name]), name)
					}
				}

				return len(found), err
			})
		})
	}
}

// TestLateList: queries wait 5 seconds for a list since it began, and then read what
// they need by key, while the list goes on. However long it takes, it counts from its
// end.
func TestLateList(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		const pages = 20 // more objects than one call reads by key
		c := newCloud(50)
		s, keys := c.open(), c.add(50*pages)
		c.inject(func(ctx context.Context, r request) error {
			if r.operation != listPage {
				return ctx.Err()
			}

			return wait(ctx, time.Second, nil)
		})
		short, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		begun := time.Now()
		if _, err := s.Get(short, keys); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the first caller: %v", err)
		}
		for _, until := range []time.Duration{5 * time.Second, 8 * time.Second} {
			get(t, s, keys[:10], 10)
			if _, err := s.Find(t.Context(), keys[len(keys)-1]); err != nil || time.Since(begun).Round(time.Second) != until {
				t.Errorf("%v, %s after the list began, want %s", err, time.Since(begun), until)
			}
			time.Sleep(8*time.Second - time.Since(begun))
		}
		if _, err := s.FindByAlias(t.Context(), "name-of-"+keys[7]); err != nil || time.Since(begun) >= 9*time.Second {
			t.Errorf("%v, %s after the list began", err, time.Since(begun))
		}
		time.Sleep((pages+1)*time.Second - time.Since(begun))
		if calls := c.calls(func() { get(t, s, keys, len(keys)) }); calls != 0 || c.count(listPage) != pages {
			t.Errorf("%d calls once the list has ended, whose pages were read %d times", calls, c.count(listPage))
		}
	})
}

// TestSlowCalls: lookups by key wait neither for those by alias nor for one another.
func TestSlowCalls(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCloud(1000)
		s, keys := c.open(), c.add(few)
		c.inject(func(ctx context.Context, r request) error {
			return wait(ctx, map[string]time.Duration{getByName: 20 * time.Second, getKeys: 8 * time.Second}[r.operation], nil)
		})
		var all sync.WaitGroup
		for i, key := range keys {
			all.Go(func() {
				begun := time.Now()
				var err error
				if i == 0 {
					_, err = s.FindByAlias(t.Context(), "name-of-"+key)
				} else {
					_, err = s.Find(t.Context(), key)
				}
				if took := time.Since(begun); err != nil || i > 0 && took > 9*time.Second {
					t.Errorf("lookup %d: %v after %s", i, err, took)
				}
			})
			time.Sleep(time.Second)
		}
		all.Wait()
	})
}
