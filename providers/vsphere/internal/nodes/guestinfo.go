package nodes

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

// Bounds of what guestinfo.metadata can unpack to: it is written by those who may
// configure the VM.
const (
	maxMetadata  = 1 << 20
	maxAddresses = 1000
)

// staticAddresses returns the addresses that cloud-init is configured with, in
// the order of the document. Metadata that is not encoded at all is not looked
// at. On an error, which is no more than worth a warning, what could be read is
// still given.
func staticAddresses(metadata, encoding inventory.Setting) ([]netip.Addr, error) {
	if err := cmp.Or(metadata.Err, encoding.Err); err != nil {
		return nil, fmt.Errorf("read guestinfo.metadata: %w", err)
	}
	if metadata.Text == "" || encoding.Text == "" {
		return nil, nil
	}
	text, err := decodeGuestinfo(metadata.Text, encoding.Text)
	if err != nil {
		return nil, fmt.Errorf("decode guestinfo.metadata: %w", err)
	}
	document, err := parseGuestinfo(text)
	if err != nil {
		return nil, fmt.Errorf("parse guestinfo.metadata: %w", err)
	}
	network, err := networkOf(document)
	if err != nil {
		return nil, fmt.Errorf("read network of guestinfo.metadata: %w", err)
	}

	return ethernetAddresses(network)
}

// decodeGuestinfo undoes an encoding, by any of the names that cloud-init has
// for it.
func decodeGuestinfo(text, encoding string) ([]byte, error) {
	zipped := false
	switch encoding {
	case "base64", "b64":
	case "gzip+base64", "gz+b64":
		zipped = true
	default:
		return nil, fmt.Errorf("unknown encoding %q", encoding)
	}
	data, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil {
		return nil, err //nolint:wrapcheck // names base64 itself
	}
	if !zipped {
		return data, checkSize(data)
	}
	unzipper, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err //nolint:wrapcheck // names gzip itself
	}
	data, err = io.ReadAll(io.LimitReader(unzipper, maxMetadata+1))
	if err != nil {
		return nil, fmt.Errorf("gzip: %w", err)
	}

	return data, checkSize(data)
}

func checkSize(data []byte) error {
	if len(data) > maxMetadata {
		return fmt.Errorf("more than %d bytes", maxMetadata)
	}

	return nil
}

// parseGuestinfo reads a YAML or JSON document that is a mapping, or nothing.
// The error does not repeat its text.
func parseGuestinfo(text []byte) (*yaml.Node, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return nil, errors.New("not a YAML document")
	}
	if document.Kind == 0 {
		return nil, nil
	}
	root := dereference(document.Content[0])
	if root.Kind != yaml.MappingNode {
		return nil, errors.New("not a mapping")
	}

	return root, nil
}

// networkOf finds the network configuration, which can be a document of its own
// inside of the metadata.
func networkOf(metadata *yaml.Node) (*yaml.Node, error) {
	network := child(metadata, "network")
	if network == nil || network.Kind != yaml.ScalarNode {
		return network, nil
	}
	encoding := child(metadata, "network.encoding")
	if encoding == nil || network.Value == "" {
		return nil, nil
	}
	text, err := decodeGuestinfo(network.Value, encoding.Value)
	if err != nil {
		return nil, err
	}
	inner, err := parseGuestinfo(text)
	if wrapped := child(inner, "network"); wrapped != nil {
		return wrapped, err
	}

	return inner, err
}

// ethernetAddresses lists the addresses of all ethernets. It skips what is no
// address and returns the first such problem.
func ethernetAddresses(network *yaml.Node) (addrs []netip.Addr, err error) {
	ethernets := child(network, "ethernets")
	if ethernets == nil || ethernets.Kind != yaml.MappingNode {
		return nil, nil
	}
	for i := 1; i < len(ethernets.Content); i += 2 {
		list := child(dereference(ethernets.Content[i]), "addresses")
		if list == nil || list.Kind != yaml.SequenceNode {
			continue
		}
		for _, item := range list.Content {
			addr, itemErr := address.ParseInterface(dereference(item).Value)
			if itemErr != nil {
				err = cmp.Or(err, fmt.Errorf("read addresses of guestinfo.metadata: %w", itemErr))

				continue
			}
			if len(addrs) == maxAddresses {
				return addrs, fmt.Errorf("read addresses of guestinfo.metadata: more than %d", maxAddresses)
			}
			addrs = append(addrs, addr)
		}
	}

	return addrs, err
}

// child is the value of a key of a mapping, or nil.
func child(mapping *yaml.Node, key string) *yaml.Node {
	if mapping == nil || mapping.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		if mapping.Content[i].Value == key {
			return dereference(mapping.Content[i+1])
		}
	}

	return nil
}

func dereference(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}

	return node
}
