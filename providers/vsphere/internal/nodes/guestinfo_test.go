package nodes

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/providers/common/address"
	"github.com/multicloud-ccm/multicloud-ccm/providers/vsphere/internal/inventory"
)

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func gz(text string) string {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write([]byte(text))
	_ = w.Close()

	return base64.StdEncoding.EncodeToString(out.Bytes())
}

// TestStaticAddresses goes through VS-ADDR-4.
func TestStaticAddresses(t *testing.T) {
	t.Parallel()
	const network = "version: 2\nethernets:\n  id1:\n    match: {name: \"z*\"}\n    addresses: [10.0.0.2/24, 'FD00:0::0002/64']\n  id0:\n    dhcp4: true\n    addresses:\n    - 10.0.0.1\n"
	const inOrder = "10.0.0.2 fd00::2 10.0.0.1"
	metadata := "instance-id: vm\nlocal-hostname: node-1\nnetwork:\n  " + strings.ReplaceAll(network, "\n", "\n  ") + "\n"
	nested := func(encoding, text string) string {
		return b64("instance-id: vm\nnetwork: " + text + "\nnetwork.encoding: " + encoding + "\n")
	}
	cases := map[string]struct {
		reason   string
		metadata string
		encoding string
		want     string
		err      string
	}{
		"base64":                {"document order, prefix stripped, canonical text", b64(metadata), "base64", inOrder, ""},
		"line end":              {"as editors leave it", b64(metadata) + "\n", "base64", inOrder, ""},
		"wrapped lines":         {"as base64(1) writes it", b64(metadata)[:40] + "\n" + b64(metadata)[40:], "base64", inOrder, ""},
		"b64":                   {"another name", b64(metadata), "b64", inOrder, ""},
		"gzip+base64":           {"compressed", gz(metadata), "gzip+base64", inOrder, ""},
		"gz+b64":                {"compressed", gz(metadata), "gz+b64", inOrder, ""},
		"JSON":                  {"JSON is YAML", b64(`{"network": {"ethernets": {"b": {"addresses": ["10.0.0.2/24"]}, "a": {"addresses": ["10.0.0.1/24"]}}}}`), "base64", "10.0.0.2 10.0.0.1", ""},
		"nested base64":         {"network may itself be encoded", nested("base64", b64(network)), "base64", inOrder, ""},
		"nested b64":            {"network may itself be encoded", nested("b64", b64(network)), "base64", inOrder, ""},
		"nested gzip+base64":    {"network may itself be encoded", nested("gzip+base64", gz(network)), "base64", inOrder, ""},
		"nested gz+b64":         {"network may itself be encoded", nested("gz+b64", gz(network)), "base64", inOrder, ""},
		"nested, with a header": {"the document may have network again", nested("base64", b64("network:\n  "+strings.ReplaceAll(network, "\n", "\n  ")+"\n")), "base64", inOrder, ""},
		"alias":                 {"YAML", b64("a: &a [10.0.0.1/8]\nnetwork: {ethernets: {x: {addresses: *a}, y: &y {addresses: [10.0.0.2]}, z: *y}}\n"), "base64", "10.0.0.1 10.0.0.2 10.0.0.2", ""},

		"no metadata":                 {"not set", "", "base64", "", ""},
		"no encoding":                 {"only encoded metadata are read", metadata, "", "", ""},
		"no network":                  {"no addresses", b64("instance-id: vm\n"), "base64", "", ""},
		"null network":                {"no addresses", b64("network:\n"), "base64", "", ""},
		"empty document":              {"no addresses", b64("# nothing\n"), "base64", "", ""},
		"no ethernets":                {"no addresses", b64("network: {version: 2}\n"), "base64", "", ""},
		"other shapes":                {"no addresses", b64("network: {ethernets: [1, {addresses: [10.0.0.1]}]}\n"), "base64", "", ""},
		"addresses of no list":        {"no addresses", b64("network: {ethernets: {a: {addresses: 10.0.0.1}, b: 1, c: }}\n"), "base64", "", ""},
		"network without an encoding": {"text without its encoding", b64("network: abc\n"), "base64", "", ""},
		"network as a list":           {"no addresses", b64("network: [a]\n"), "base64", "", ""},

		"unknown encoding":   {"reported, and ignored", b64(metadata), "rot13", "", `decode guestinfo.metadata: unknown encoding "rot13"`},
		"exactly":            {"encodings are in lower case", b64(metadata), "BASE64", "", `decode guestinfo.metadata: unknown encoding "BASE64"`},
		"no base64":          {"reported, and ignored", "***", "base64", "", "decode guestinfo.metadata: illegal base64 data at input byte 0"},
		"no gzip":            {"reported, and ignored", b64(metadata), "gzip+base64", "", "decode guestinfo.metadata: gzip: invalid header"},
		"cut gzip":           {"reported, and ignored", b64(string(must(base64.StdEncoding.DecodeString(gz(metadata)))[:40])), "gzip+base64", "", "decode guestinfo.metadata: gzip: unexpected EOF"},
		"gzip bomb":          {"bounded", gz(strings.Repeat("#", 2<<20)), "gzip+base64", "", "decode guestinfo.metadata: more than 1048576 bytes"},
		"too long":           {"bounded", b64(strings.Repeat("#", 2<<20)), "base64", "", "decode guestinfo.metadata: more than 1048576 bytes"},
		"no YAML":            {"its text is not repeated: it may hold secrets", b64("password: *hunter2\n"), "base64", "", "parse guestinfo.metadata: not a YAML document"},
		"no mapping":         {"reported, and ignored", b64("- a\n"), "base64", "", "parse guestinfo.metadata: not a mapping"},
		"nested, no base64":  {"reported, and ignored", nested("base64", "'***'"), "base64", "", "read network of guestinfo.metadata: illegal base64 data at input byte 0"},
		"nested, unknown":    {"reported, and ignored", nested("rot13", "abc"), "base64", "", `read network of guestinfo.metadata: unknown encoding "rot13"`},
		"nested, no YAML":    {"reported, and ignored", nested("base64", b64("{")), "base64", "", "read network of guestinfo.metadata: not a YAML document"},
		"bad address":        {"the others are still given", b64("network: {ethernets: {a: {addresses: [x, 10.0.0.1/24, 10.0.0.1/99, {a: b}]}}}\n"), "base64", "10.0.0.1", "read addresses of guestinfo.metadata: parse address:"},
		"too many addresses": {"aliases multiply", b64("a: &a [" + strings.TrimSuffix(strings.Repeat("10.0.0.1,", 100), ",") + "]\nnetwork:\n  ethernets:\n" + manyEthernets(20)), "base64", strings.TrimSpace(strings.Repeat("10.0.0.1 ", 1000)), "read addresses of guestinfo.metadata: more than 1000"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addrs, err := staticAddresses(inventory.Setting{Text: tc.metadata}, inventory.Setting{Text: tc.encoding})
			var got []string
			for _, addr := range addrs {
				got = append(got, addr.String())
			}
			if strings.Join(got, " ") != tc.want {
				t.Errorf("%s: want %s, got %s", tc.reason, tc.want, got)
			}
			if (err == nil) != (tc.err == "") || err != nil && !strings.HasPrefix(err.Error(), tc.err) {
				t.Errorf("%s: want error %q, got %v", tc.reason, tc.err, err)
			}
		})
	}
}

func manyEthernets(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString("    e" + string(rune('a'+i)) + ": {addresses: *a}\n")
	}

	return b.String()
}

func must(data []byte, err error) []byte {
	if err != nil {
		panic(err)
	}

	return data
}

// FuzzStaticAddresses: no metadata makes it panic or take long, and what it
// gives are addresses as others write them.
func FuzzStaticAddresses(f *testing.F) {
	for _, text := range []string{
		"", "network: {ethernets: {a: {addresses: [10.0.0.1/24, 'fd00::1']}}}\n", "network: e30=\nnetwork.encoding: base64\n",
		"a: &a {addresses: [10.0.0.1]}\nnetwork: {ethernets: {x: *a, y: *a}}\n", "network: &n {ethernets: *n}\n", "? [a]\n: b\n", "network: {<<: {ethernets: 1}}\n", "*a", "[[[[",
	} {
		f.Add(text, "base64")
		f.Add(text, "gzip+base64")
	}
	f.Fuzz(func(t *testing.T, text, encoding string) {
		encoded := text
		switch encoding {
		case "base64", "b64":
			encoded = b64(text)
		case "gzip+base64", "gz+b64":
			encoded = gz(text)
		}
		for _, metadata := range []string{text, encoded} {
			addrs, err := staticAddresses(inventory.Setting{Text: metadata}, inventory.Setting{Text: encoding})
			if len(addrs) > maxAddresses || encoding == "" && (addrs != nil || err != nil) {
				t.Fatalf("got %v, %v", addrs, err)
			}
			for _, addr := range addrs {
				if !addr.IsValid() || addr.Zone() != "" || addr != addr.Unmap() || address.FamilyOf(addr) == "" {
					t.Fatalf("%v is no address of others", addr)
				}
			}
		}
	})
}
