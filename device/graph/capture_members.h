/* Captures and their members, for the files that implement captures. Under the graphs' lock. */
#ifndef DEVICE_GRAPH_CAPTURE_MEMBERS_H
#define DEVICE_GRAPH_CAPTURE_MEMBERS_H

#include "api/stream/capture.h"
#include "graph/work.h"

typedef struct Capture Capture;

struct CaptureMember {
    Capture *capture;
    Stream *stream;             /* a reference */
    NodeSet front;              /* what the stream's next node depends on */
    CaptureMember *next;
};

struct Capture {
    Capture *next;
    uint64_t id;
    Graph *graph;               /* a reference */
    bool given;                 /* the program gave the graph (cuStreamBeginCaptureToGraph) */
    bool invalid;
    CUstreamCaptureMode mode;
    pthread_t thread;           /* the one that began it */
    Stream *origin;             /* the stream where it began, which is a member */
    CaptureMember *members;
    NodeSet gone;               /* the last nodes of members that were destroyed */
};

/* The list of all captures. */
Capture *captures_locked(void);

#endif
