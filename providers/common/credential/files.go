package credential

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fsnotify/fsnotify"
	"k8s.io/klog/v2"

	"github.com/multicloud-ccm/multicloud-ccm/config"
	"github.com/multicloud-ccm/multicloud-ccm/providers/common/lists"
)

const (
	// filesPoll is how often files are read even without an event: some file
	// systems report none.
	filesPoll = time.Minute
	// filesQuiet is how long no event must come before files are read, so that a
	// user name is not used with the password of another one.
	filesQuiet = 100 * time.Millisecond
	// mountLink is the link that the kubelet replaces to change all files of a
	// mounted Secret at once.
	mountLink = "..data"
)

// Files is a Source of files. Their directories are watched.
type Files[C comparable] struct {
	reader[C]

	directories []string
}

// NewDirectory returns the source of all files of a directory, which may appear
// later. The key of a file is its name. Folders and unreadable files are skipped.
func NewDirectory[C comparable](path string, parse Parse[C]) *Files[C] {
	read := func() (map[string][]byte, error) { return readDirectory(path) }

	return newFiles("directory "+path, []string{path}, read, parse)
}

// NewFiles returns the source of single files, each of which may appear later, such as
// those that a setting may be in by a search order. The key of a file is its path as
// given. Files that do not exist are skipped, unless none exists.
func NewFiles[C comparable](paths []string, parse Parse[C]) *Files[C] {
	read := func() (map[string][]byte, error) { return readFiles(paths) }

	return newFiles("files "+strings.Join(paths, ", "), lists.Map(paths, filepath.Dir), read, parse)
}

func newFiles[C comparable](
	source string, directories []string, read func() (map[string][]byte, error), parse Parse[C],
) *Files[C] {
	f := &Files[C]{directories: directories}
	f.reader = reader[C]{source: source, parse: parse, read: func(context.Context) (map[string][]byte, error) {
		return readTogether(directories, read)
	}}

	return f
}

// Run reads the files after each change until ctx ends.
func (f *Files[C]) Run(ctx context.Context) {
	logger := klog.FromContext(ctx).WithValues("source", f.source)
	watcher, err := fsnotify.NewWatcher()
	if err != nil {
		logger.Error(err, "Cannot watch files; reading them now and then", "period", filesPoll)
		watcher = &fsnotify.Watcher{}
	} else {
		defer watcher.Close() //nolint:errcheck // nothing is lost
	}
	poll := time.NewTicker(filesPoll)
	defer poll.Stop()

	for ctx.Err() == nil {
		if err == nil {
			f.watch(watcher)
		}
		if err := f.Refresh(ctx); err != nil {
			logger.V(2).Info("Could not read credentials", "err", err)
		}
		select {
		case <-ctx.Done():
		case <-poll.C:
		case err := <-watcher.Errors:
			logger.V(2).Info("Lost sight of files; reading them again", "err", err)
		case <-watcher.Events:
			waitForQuiet(ctx, watcher.Events)
		}
	}
}

// watch adds the directories to a watcher. It is repeated, since a directory that was
// replaced has to be added again; that one is missing is reported by reading it.
func (f *Files[C]) watch(watcher *fsnotify.Watcher) {
	for _, directory := range f.directories {
		_ = watcher.Add(directory)
	}
}

// waitForQuiet waits until no events come for a moment, a second at most.
func waitForQuiet(ctx context.Context, events <-chan fsnotify.Event) {
	ctx, cancel := context.WithTimeout(ctx, 10*filesQuiet)
	defer cancel()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(filesQuiet):
			return
		case <-events:
		}
	}
}

// readTogether reads files that belong together: it starts again if the kubelet
// replaces them meanwhile.
func readTogether(directories []string, read func() (map[string][]byte, error)) (map[string][]byte, error) {
	const tries = 3
	for range tries {
		before := mounted(directories)
		data, err := read()
		if err != nil {
			return nil, err
		}
		if slices.Equal(mounted(directories), before) {
			return data, nil
		}
	}

	return nil, errors.New("files change faster than they can be read")
}

// mounted names the current content of each directory that is a mounted Secret.
func mounted(directories []string) []string {
	targets := make([]string, len(directories))
	for i, directory := range directories {
		if target, err := os.Readlink(filepath.Join(directory, mountLink)); err == nil {
			targets[i] = target
		}
	}

	return targets
}

func readDirectory(path string) (map[string][]byte, error) {
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	data := make(map[string][]byte, len(entries))
	for _, entry := range entries {
		file := filepath.Join(path, entry.Name())
		// Links are followed here: the files of a mounted Secret are links.
		if info, err := os.Stat(file); err != nil || !info.Mode().IsRegular() {
			continue
		}
		if content, err := config.ReadFile(file); err == nil {
			data[entry.Name()] = content
		}
	}

	return data, nil
}

func readFiles(paths []string) (map[string][]byte, error) {
	data := make(map[string][]byte, len(paths))
	for _, path := range paths {
		content, err := config.ReadFile(path)
		switch {
		case err == nil:
			data[path] = content
		case !errors.Is(err, fs.ErrNotExist):
			return nil, err
		}
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("no file exists: %w", fs.ErrNotExist)
	}

	return data, nil
}
