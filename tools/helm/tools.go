//go:build tools

// Package tools pins Helm 3, which tools/build builds.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
