package aws

import "net/http"

const metadataRoot = "/latest/"

type metadataService struct {
	disabled bool
	self     string
}

func newMetadataService() metadataService { return metadataService{} }

func (c *Cloud) serveMetadata(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) }
