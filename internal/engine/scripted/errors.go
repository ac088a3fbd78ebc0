package scripted

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// apiError is an error as llama.cpp answers it. The order of the keys depends on
// the part of the server that refuses.
type apiError struct {
	status int
	body   any
}

type errorBody[T any] struct {
	Error T `json:"error"`
}

// handlerError is the shape of errors found while a request is handled.
type handlerError struct {
	Code         int    `json:"code"`
	Message      string `json:"message"`
	Type         string `json:"type"`
	PromptTokens *int64 `json:"n_prompt_tokens,omitempty"`
	ContextSize  *int64 `json:"n_ctx,omitempty"`
}

// routeError is the shape of errors found before a handler is reached.
type routeError struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    int    `json:"code"`
}

func handlerFault(status int, kind, format string, args ...any) *apiError {
	return &apiError{status, errorBody[handlerError]{handlerError{
		Code: status, Message: fmt.Sprintf(format, args...), Type: kind,
	}}}
}

func routeFault(status int, kind, message string) *apiError {
	return &apiError{status, errorBody[routeError]{routeError{message, kind, status}}}
}

func badRequest(format string, args ...any) *apiError {
	return handlerFault(http.StatusBadRequest, "invalid_request_error", format, args...)
}

func serverError(format string, args ...any) *apiError {
	return handlerFault(http.StatusInternalServerError, "server_error", format, args...)
}

func unavailable(message string) *apiError {
	return handlerFault(http.StatusServiceUnavailable, "unavailable_error", "%s", message)
}

func notFound() *apiError {
	return routeFault(http.StatusNotFound, "not_found_error", "File Not Found")
}

func unauthorised() *apiError {
	return routeFault(http.StatusUnauthorized, "authentication_error", "Invalid API Key")
}

func bodyTooLarge() *apiError {
	return handlerFault(http.StatusRequestEntityTooLarge, "invalid_request_error",
		"the body is larger than %d bytes", maxBody)
}

func contextExceeded(prompt, context int64) *apiError {
	return &apiError{http.StatusBadRequest, errorBody[handlerError]{handlerError{
		Code: http.StatusBadRequest,
		Message: fmt.Sprintf("request (%d tokens) exceeds the available context size (%d tokens), try increasing it",
			prompt, context),
		Type:         "exceed_context_size_error",
		PromptTokens: &prompt,
		ContextSize:  &context,
	}}}
}

// noProgram names what could have matched.
func noProgram(programs []Program, seed int64) *apiError {
	var have []string
	for _, p := range programs {
		s := fmt.Sprintf("%q", p.Name)
		if p.Task != "" {
			s += fmt.Sprintf(" (first user message contains %q)", clip(p.Task))
		}
		if len(p.Seeds) > 0 {
			s += fmt.Sprintf(" (seeds %v)", p.Seeds[:min(len(p.Seeds), 20)])
		}
		have = append(have, s)
	}
	const most = 20
	if n := len(have) - most; n > 0 {
		have = append(slices.Clip(have[:most]), fmt.Sprintf("%d more", n))
	}
	return routeFault(http.StatusNotFound, "not_found_error",
		fmt.Sprintf("no program matches this request with seed %d; there are %s", seed, strings.Join(have, ", ")))
}

func clip(s string) string {
	const most = 60
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}
