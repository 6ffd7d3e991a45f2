package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"
)

const (
	// directoryPoll is how often a directory is read even if nothing was
	// noticed: some file systems do not tell.
	directoryPoll = time.Minute
	// directorySettle is how long a directory must be left alone before it is
	// read, so that a user is not taken with the password of another.
	directorySettle = 100 * time.Millisecond
	// mountLink is the link that Kubernetes turns over to change all files of
	// a mounted Secret at once.
	mountLink = "..data"
)

// Directory is a Source of files: the name is the key, the content the value.
// Folders and unreadable files are skipped.
type Directory struct {
	reader

	path string
}

var _ Source = (*Directory)(nil)

// NewDirectory makes the source of a directory, which may appear later.
func NewDirectory(path string) *Directory {
	d := &Directory{path: path}
	d.reader = reader{name: "directory " + path, load: d.loadFiles}

	return d
}

// Run keeps reading whatever changes until ctx ends.
func (d *Directory) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("source", d.name)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		logger.Error(err, "Cannot watch files; reading them now and then", "period", directoryPoll)
		watcher = &fsnotify.Watcher{}
	} else {
		defer watcher.Close() //nolint:errcheck // nothing is lost
	}
	poll := time.NewTicker(directoryPoll)
	defer poll.Stop()

	for ctx.Err() == nil {
		if err == nil {
			// A directory that was replaced has to be watched again. That it
			// is missing is what reading says.
			_ = watcher.Add(d.path)
		}
		if err := d.Refresh(ctx); err != nil {
			logger.V(2).Info("Could not read credentials", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		case err := <-watcher.Errors:
			logger.V(2).Info("Lost sight of files; reading them again", "err", err)
		case <-watcher.Events:
			settle(ctx, watcher.Events)
		}
	}
}

// settle waits until the events have stopped for a moment, a second at most.
func settle(ctx context.Context, events <-chan fsnotify.Event) {
	ctx, cancel := context.WithTimeout(ctx, 10*directorySettle)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(directorySettle):
			return
		case <-events:
		}
	}
}

// loadFiles reads all files. If a mount is turned over meanwhile it starts
// again, so that no user goes with another's password.
func (d *Directory) loadFiles(context.Context) (map[string][]byte, error) {
	const tries = 3
	for range tries {
		before := d.mounted()
		data, err := readFiles(d.path)
		if err != nil {
			return nil, err
		}
		if d.mounted() == before {
			return data, nil
		}
	}

	return nil, fmt.Errorf("files change faster than they can be read")
}

// mounted names the current content of a Kubernetes mount; other directories
// have none.
func (d *Directory) mounted() string {
	target, err := os.Readlink(filepath.Join(d.path, mountLink))
	if err != nil {
		return ""
	}

	return target
}

func readFiles(path string) (map[string][]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	data := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		// Links are followed here: that is what mounts consist of.
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if content, err := os.ReadFile(file); err == nil {
			data[entry.Name()] = content
		}
	}

	return data, nil
}
