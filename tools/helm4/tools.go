//go:build tools

// Package tools pins Helm 4, which tools/build builds.
package tools

import _ "helm.sh/helm/v4/cmd/helm"
