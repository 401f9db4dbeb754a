// The dumbbell of services/twin/dumbbell in htsim, with the same arguments and the
// same lines of output.
//
// Copyright The Millrace Authors
// SPDX-License-Identifier: Apache-2.0
//
// This file is Millrace's own text and holds nothing copied from htsim, whose
// licence is BSD-2-Clause. The program built from it is not part of Millrace.
//
// htsim's TCP is NewReno with an acknowledgement per segment; what else is asked
// for is refused.
//
// In: --name=value arguments, as Parameters.Arguments writes them.
// Out: goodput_mbps, hops and flow_mbps, one per line.
// Next: services/twin/bench, which reads them.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "config.h"
#include "eventlist.h"
#include "network.h"
#include "pipe.h"
#include "queue.h"
#include "tcp.h"

namespace {

uint64_t hops = 0;

// Counted counts what it puts on the link.
class Counted : public Queue {
  public:
    Counted(linkspeed_bps rate, mem_b room, EventList& events) : Queue(rate, room, events, NULL) {}

  protected:
    void completeService() override {
        ++hops;
        Queue::completeService();
    }
};

// Snapshot notes what has arrived when goodput begins to count.
class Snapshot : public EventSource {
  public:
    Snapshot(EventList& events, std::vector<TcpSink*>& sinks) : EventSource(events, "snapshot"), sinks_(sinks) {}
    void doNextEvent() override {
        for (TcpSink* s : sinks_) before.push_back(s->_cumulative_ack);
    }
    std::vector<uint64_t> before;

  private:
    std::vector<TcpSink*>& sinks_;
};

struct Link {
    Link(double rate, mem_b room, double delay, EventList& events)
        : queue(new Counted(static_cast<linkspeed_bps>(rate), room, events)), pipe(new Pipe(timeFromSec(delay), events)) {}
    void onto(Route* r) const {
        r->push_back(queue);
        r->push_back(pipe);
    }
    Counted* queue;
    Pipe* pipe;
};

std::map<std::string, std::string> read(int argc, char* argv[]) {
    std::map<std::string, std::string> out;
    for (int i = 1; i < argc; ++i) {
        char* equals = std::strchr(argv[i], '=');
        if (std::strncmp(argv[i], "--", 2) != 0 || equals == NULL) {
            std::fprintf(stderr, "%s: arguments are --name=value\n", argv[i]);
            std::exit(2);
        }
        out[std::string(argv[i] + 2, equals)] = equals + 1;
    }
    return out;
}

}  // namespace

int main(int argc, char* argv[]) {
    std::map<std::string, std::string> given = read(argc, argv);
    auto number = [&](const char* name, double otherwise) { return given.count(name) ? std::atof(given[name].c_str()) : otherwise; };
    if (number("sack", 0) != 0 || number("loss", 0) != 0 || number("ack-every", 1) != 1 || (given.count("algorithm") && given["algorithm"] != "newreno")) {
        std::fprintf(stderr, "htsim has NewReno with an acknowledgement per segment, without SACK and without random losses\n");
        return 2;
    }
    const int pairs = number("pairs", 10), flows = number("flows", 100), payload = number("payload", 512);
    const int packet = payload + 54;
    const double seconds = number("seconds", 60), warm = number("warm", 0);
    const double access = number("access", 100e6), core = number("core", 100e6);
    const double accessDelay = number("access-delay", 0.001), coreDelay = number("core-delay", 0.01), step = number("delay-step", 0);
    const mem_b endless = mem_b(1) << 40;
    const mem_b room = mem_b(number("buffer", 50)) * packet;
    srand(static_cast<unsigned>(number("seed", 1)));

    EventList events;
    events.setEndtime(timeFromSec(seconds));
    Packet::set_packet_size(packet);
    TcpRtxTimerScanner timers(timeFromMs(10), events);
    const Link there(core, room, coreDelay, events), home(core, room, coreDelay, events);
    std::vector<std::vector<Link>> access_links;
    for (int i = 0; i < pairs; ++i) {
        const double far = accessDelay + i * step;
        access_links.push_back({Link(access, endless, far, events), Link(access, endless, accessDelay, events),
                                Link(access, endless, accessDelay, events), Link(access, endless, far, events)});
    }
    std::vector<TcpSink*> sinks;
    for (int i = 0; i < flows; ++i) {
        const std::vector<Link>& own = access_links[i % pairs];
        TcpSrc* source = new TcpSrc(NULL, NULL, events);
        TcpSink* sink = new TcpSink();
        Route *out = new Route(), *back = new Route();
        own[0].onto(out), there.onto(out), own[1].onto(out), out->push_back(sink);
        own[2].onto(back), home.onto(back), own[3].onto(back), back->push_back(source);
        source->set_cwnd(number("initial", 2) * packet);
        source->set_ssthresh(0xffffffff);
        source->_maxcwnd = number("window", 100) * packet;
        timers.registerTcp(*source);
        source->connect(*out, *back, *sink, timeFromSec(i * number("stagger", 0.001)));
        sinks.push_back(sink);
    }
    Snapshot snapshot(events, sinks);
    events.sourceIsPending(snapshot, timeFromSec(warm));
    std::cout.setstate(std::ios_base::failbit);  // it reports every timeout
    while (events.doNextEvent()) {
    }

    double sum = 0;
    std::string each;
    for (int i = 0; i < flows; ++i) {
        const double mbps = (sinks[i]->_cumulative_ack - snapshot.before[i]) * 8.0 * payload / packet / (seconds - warm) / 1e6;
        char text[32];
        std::snprintf(text, sizeof text, "%s%.4f", i > 0 ? "," : "", mbps);
        sum += mbps;
        each += text;
    }
    std::printf("goodput_mbps=%.4f\nhops=%llu\nflow_mbps=%s\n", sum, static_cast<unsigned long long>(hops), each.c_str());
    return 0;
}
