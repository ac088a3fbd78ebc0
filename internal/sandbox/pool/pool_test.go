package pool

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"assay/internal/sandbox"
)

// fakes opens boxes that take a second to start.
type fakes struct {
	mu     sync.Mutex
	opened []*fake
	fail   error
}

type fake struct {
	sandbox.Box
	lost   bool
	closed int
}

func (f *fakes) Open(ctx context.Context, _ sandbox.Options) (sandbox.Box, error) {
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.fail != nil {
		return nil, f.fail
	}
	b := &fake{}
	f.opened = append(f.opened, b)
	return b, nil
}

func (b *fake) Sweep(context.Context) error {
	if b.lost {
		return errors.New("lost")
	}
	return nil
}

func (b *fake) Close() error { b.closed++; return nil }

// at gives the box opened at a place; a negative place counts from the end.
func (f *fakes) at(i int) *fake {
	f.mu.Lock()
	defer f.mu.Unlock()
	if i < 0 {
		i += len(f.opened)
	}
	return f.opened[i]
}

func newPool(t *testing.T, f *fakes, size int) *Pool {
	t.Helper()
	p, err := New(f, sandbox.Options{Deadline: time.Hour}, size)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func take(t *testing.T, p *Pool) (*fake, time.Duration) {
	t.Helper()
	begun := time.Now()
	b, err := p.Take(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return b.(*fake), time.Since(begun)
}

func TestTakersDoNotWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{}
		p := newPool(t, f, 2)
		time.Sleep(2 * time.Second)
		seen := map[*fake]bool{}
		for range 5 {
			b, waited := take(t, p)
			if waited != 0 || seen[b] {
				t.Errorf("waited %s, handed out before: %v", waited, seen[b])
			}
			seen[b] = true
			time.Sleep(5 * time.Second)
		}
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		for _, b := range f.opened {
			if want := map[bool]int{true: 0, false: 1}[seen[b]]; b.closed != want {
				t.Errorf("box closed %d times, want %d", b.closed, want)
			}
		}
	})
}

func TestEmptyPoolOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, &fakes{}, 1)
		defer p.Close()
		if _, waited := take(t, p); waited != time.Second {
			t.Errorf("waited %s for a fresh box, want its start", waited)
		}
	})
}

func TestLostAndOldBoxesAreReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{}
		p := newPool(t, f, 1)
		defer p.Close()
		time.Sleep(2 * time.Second)
		synctest.Wait()
		first := f.at(0)
		first.lost = true
		if b, _ := take(t, p); b == first || first.closed != 1 {
			t.Errorf("a lost box was handed out or not closed (%d)", first.closed)
		}
		time.Sleep(31 * time.Minute)
		synctest.Wait()
		old := f.at(-1)
		if b, _ := take(t, p); b == old || old.closed != 1 {
			t.Errorf("a box near its deadline was handed out or not closed (%d)", old.closed)
		}
	})
}

func TestFailureIsToldAndNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{fail: errors.New("no engine")}
		p := newPool(t, f, 1)
		defer p.Close()
		time.Sleep(time.Minute)
		if _, err := p.Take(t.Context()); !errors.Is(err, f.fail) {
			t.Errorf("got %v", err)
		}
		f.mu.Lock()
		f.fail = nil
		f.mu.Unlock()
		time.Sleep(time.Minute)
		if _, waited := take(t, p); waited != 0 {
			t.Errorf("waited %s after the engine had come back", waited)
		}
	})
}

func TestCloseDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakes{}
		p := newPool(t, f, 3)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
		if b, err := p.Take(t.Context()); err == nil {
			t.Errorf("a closed pool hands out %v", b)
		}
		if len(f.opened) != 0 {
			t.Errorf("%d boxes were opened for a closed pool", len(f.opened))
		}
	})
}
