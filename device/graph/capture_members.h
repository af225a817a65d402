/* What a capture is made of: for the files that implement it. All under the graphs' lock. */
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
    bool given;                 /* the graph was there before */
    bool invalid;
    CUstreamCaptureMode mode;
    pthread_t thread;           /* that began it */
    Stream *origin;             /* where it began; a member */
    CaptureMember *members;
    NodeSet gone;               /* what streams did last that were destroyed since */
};

Capture *captures_locked(void);

#endif
