package config_test

import (
	"testing"

	"github.com/multicloud-ccm/multicloud-ccm/config"
)

func TestRedactURLs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ reason, text, want string }{
		"empty":     {"there is nothing", "", ""},
		"no URL":    {"it is shown", "a@b ?c=d", "a@b ?c=d"},
		"plain":     {"it has no credentials", "https://ec2.example.com:8443/path", "https://ec2.example.com:8443/path"},
		"password":  {"the user is part of a credential, too", "https://me:s3cret@ec2.example.com/path", "https://<redacted>@ec2.example.com/path"},
		"token":     {"it can be a user", "https://t0ken@ec2.example.com", "https://<redacted>@ec2.example.com"},
		"query":     {"names are shown", "https://a.example.com/?token=s3cret&v=2&s3cret", "https://a.example.com/?token=<redacted>&v=<redacted>&<redacted>"},
		"fragment":  {"it can have a token", "https://a.example.com/#access_token=s3cret", "https://a.example.com/#<redacted>"},
		"both":      {"nothing is left", "HTTP://me:s3cret@a?key=s3cret#s3cret", "HTTP://<redacted>@a?key=<redacted>#<redacted>"},
		"unescaped": {"a password that is not escaped", "https://me:s3/c?r=#e@t@a.example.com", "https://<redacted>@a.example.com"},
		"no port":   {"a URL that cannot be parsed", "https://me:s3%zzcret@a:b/", "https://<redacted>@a:b/"},
		"scheme":    {"other protocols have passwords, too", "socks5://me:s3cret@proxy:1080", "socks5://<redacted>@proxy:1080"},
		"list":      {"each of them", "[https://me:s3cret@a http://b?k=s3cret]", "[https://<redacted>@a http://b?k=<redacted>"},
		"sentence":  {"within a message", `"https://me:s3cret@" is not a URL such as https://ec2.example.com`, `"https://<redacted>@" is not a URL such as https://ec2.example.com`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := config.RedactURLs(tc.text); got != tc.want {
				t.Errorf("%s: %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
}
