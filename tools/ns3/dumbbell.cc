// The dumbbell of services/twin/dumbbell in ns-3, with the same arguments and the
// same lines of output.
//
// Copyright The Millrace Authors
// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
//
// This file is Millrace's own text. It names functions of ns-3, whose licence is
// GPL-2.0-only, and holds nothing copied from it. A program built from it is
// linked with ns-3 and so under that licence; Millrace neither ships nor links
// such a program, which is built on request to compare figures (README.md).
//
// In: --name=value arguments, as Parameters.Arguments writes them.
// Out: goodput_mbps, hops and flow_mbps, one per line.
// Next: services/twin/ns3 and services/twin/bench, which read them.
#include <ns3/applications-module.h>
#include <ns3/core-module.h>
#include <ns3/internet-module.h>
#include <ns3/network-module.h>
#include <ns3/point-to-point-module.h>
#include <ns3/traffic-control-helper.h>

#include <cstdio>
#include <string>
#include <vector>

using namespace ns3;

namespace {

struct Parameters {
    uint32_t pairs = 10, flows = 100, buffer = 50, window = 100, initial = 2, payload = 512, ackEvery = 1;
    double access = 100e6, core = 100e6;                          // bit/s
    double accessDelay = 0.001, coreDelay = 0.01, delayStep = 0;  // seconds, one way
    double loss = 0, stagger = 0.001, warm = 0, seconds = 60;
    bool sack = false;
    std::string algorithm = "newreno";
    uint32_t seed = 1;
};

uint64_t hops = 0;

void OnHop(Ptr<const Packet>) { ++hops; }

Parameters Read(int argc, char* argv[]) {
    Parameters p;
    CommandLine cmd;
    cmd.AddValue("pairs", "pairs of hosts", p.pairs);
    cmd.AddValue("flows", "connections, flow i on pair i modulo pairs", p.flows);
    cmd.AddValue("buffer", "packets at the core link, the one being sent included", p.buffer);
    cmd.AddValue("window", "largest window, segments", p.window);
    cmd.AddValue("initial", "first window, segments", p.initial);
    cmd.AddValue("payload", "bytes of a segment", p.payload);
    cmd.AddValue("ack-every", "segments per acknowledgement", p.ackEvery);
    cmd.AddValue("access", "bit/s of access links", p.access);
    cmd.AddValue("core", "bit/s of the core link", p.core);
    cmd.AddValue("access-delay", "seconds, one way", p.accessDelay);
    cmd.AddValue("core-delay", "seconds, one way", p.coreDelay);
    cmd.AddValue("delay-step", "seconds that each pair's sender is farther than the one before", p.delayStep);
    cmd.AddValue("loss", "probability per data packet on the core link", p.loss);
    cmd.AddValue("stagger", "seconds between starts", p.stagger);
    cmd.AddValue("warm", "seconds before goodput counts", p.warm);
    cmd.AddValue("seconds", "simulated", p.seconds);
    cmd.AddValue("sack", "RFC 6675, else NewReno", p.sack);
    cmd.AddValue("algorithm", "newreno, cubic or htcp", p.algorithm);
    cmd.AddValue("seed", "of the losses", p.seed);
    cmd.Parse(argc, argv);
    return p;
}

// Recovery is RFC 6582's and RFC 6675's, as in the twin, not ns-3's default (proportional rate reduction).
void Configure(const Parameters& p) {
    RngSeedManager::SetSeed(p.seed + 1);
    const char* type = p.algorithm == "cubic" ? "ns3::TcpCubic" : p.algorithm == "htcp" ? "ns3::TcpHtcp" : "ns3::TcpNewReno";
    Config::SetDefault("ns3::TcpL4Protocol::SocketType", StringValue(type));
    Config::SetDefault("ns3::TcpL4Protocol::RecoveryType", StringValue("ns3::TcpClassicRecovery"));
    Config::SetDefault("ns3::TcpSocketBase::Sack", BooleanValue(p.sack));
    Config::SetDefault("ns3::TcpSocketBase::MinRto", TimeValue(Seconds(1)));
    Config::SetDefault("ns3::TcpSocket::SegmentSize", UintegerValue(p.payload));
    Config::SetDefault("ns3::TcpSocket::InitialCwnd", UintegerValue(p.initial));
    Config::SetDefault("ns3::TcpSocket::DelAckCount", UintegerValue(p.ackEvery));
    Config::SetDefault("ns3::TcpSocket::DelAckTimeout", TimeValue(MilliSeconds(200)));
    // The window is the sender's buffer. As the receiver's it would end the program: in ns-3.37 a sender in
    // recovery whose data fill the receiver's window exactly sends a segment of zero bytes, and TcpRateLinux::SkbSent
    // follows a null pointer.
    Config::SetDefault("ns3::TcpSocket::SndBufSize", UintegerValue(p.window * p.payload));
    Config::SetDefault("ns3::TcpSocket::RcvBufSize", UintegerValue(1 << 30));
}

NetDeviceContainer Link(Ptr<Node> a, Ptr<Node> b, double rate, double delay, uint32_t packets) {
    PointToPointHelper link;
    link.SetDeviceAttribute("DataRate", DataRateValue(DataRate(static_cast<uint64_t>(rate))));
    link.SetChannelAttribute("Delay", TimeValue(Seconds(delay)));
    link.SetQueue("ns3::DropTailQueue<Packet>", "MaxSize", QueueSizeValue(QueueSize(QueueSizeUnit::PACKETS, packets)));
    NetDeviceContainer devices = link.Install(a, b);
    for (uint32_t i = 0; i < devices.GetN(); ++i) {
        devices.Get(i)->TraceConnectWithoutContext("PhyTxBegin", MakeCallback(&OnHop));
    }
    return devices;
}

// Number addresses a link; the queue that traffic control would put before the device's own goes away again.
Ipv4InterfaceContainer Number(Ipv4AddressHelper& book, const NetDeviceContainer& devices) {
    Ipv4InterfaceContainer out = book.Assign(devices);
    book.NewNetwork();
    TrafficControlHelper none;
    none.Uninstall(devices);
    return out;
}

}  // namespace

int main(int argc, char* argv[]) {
    const Parameters p = Read(argc, argv);
    Configure(p);
    const uint32_t endless = 1000000;

    NodeContainer routers, senders, receivers;
    routers.Create(2);
    senders.Create(p.pairs);
    receivers.Create(p.pairs);
    InternetStackHelper stack;
    stack.InstallAll();
    Ipv4AddressHelper book("10.0.0.0", "255.255.255.0");

    // A device's queue does not count the packet that it is sending.
    NetDeviceContainer core = Link(routers.Get(0), routers.Get(1), p.core, p.coreDelay, p.buffer > 1 ? p.buffer - 1 : 1);
    Number(book, core);
    if (p.loss > 0) {
        Ptr<RateErrorModel> losses = CreateObject<RateErrorModel>();
        losses->SetUnit(RateErrorModel::ERROR_UNIT_PACKET);
        losses->SetRate(p.loss);
        core.Get(1)->SetAttribute("ReceiveErrorModel", PointerValue(losses));
    }
    std::vector<Ipv4Address> where;
    for (uint32_t i = 0; i < p.pairs; ++i) {
        Number(book, Link(senders.Get(i), routers.Get(0), p.access, p.accessDelay + i * p.delayStep, endless));
        where.push_back(Number(book, Link(routers.Get(1), receivers.Get(i), p.access, p.accessDelay, endless)).GetAddress(1));
    }
    Ipv4GlobalRoutingHelper::PopulateRoutingTables();

    std::vector<Ptr<PacketSink>> sinks;
    for (uint32_t i = 0; i < p.flows; ++i) {
        const uint16_t port = 5000 + i;
        const uint32_t pair = i % p.pairs;
        PacketSinkHelper sink("ns3::TcpSocketFactory", InetSocketAddress(Ipv4Address::GetAny(), port));
        ApplicationContainer there = sink.Install(receivers.Get(pair));
        there.Start(Seconds(0));
        sinks.push_back(DynamicCast<PacketSink>(there.Get(0)));
        BulkSendHelper bulk("ns3::TcpSocketFactory", InetSocketAddress(where[pair], port));
        bulk.SetAttribute("SendSize", UintegerValue(p.payload));
        bulk.SetAttribute("MaxBytes", UintegerValue(0));
        bulk.Install(senders.Get(pair)).Start(Seconds(i * p.stagger));
    }

    std::vector<uint64_t> before(p.flows, 0);
    if (p.warm > 0) {
        Simulator::Schedule(Seconds(p.warm), [&] {
            for (uint32_t i = 0; i < p.flows; ++i) before[i] = sinks[i]->GetTotalRx();
        });
    }
    Simulator::Stop(Seconds(p.seconds));
    Simulator::Run();

    double sum = 0;
    std::string each;
    for (uint32_t i = 0; i < p.flows; ++i) {
        const double mbps = (sinks[i]->GetTotalRx() - before[i]) * 8 / (p.seconds - p.warm) / 1e6;
        sum += mbps;
        char text[32];
        std::snprintf(text, sizeof text, "%s%.4f", i > 0 ? "," : "", mbps);
        each += text;
    }
    std::printf("goodput_mbps=%.4f\nhops=%llu\nflow_mbps=%s\n", sum, static_cast<unsigned long long>(hops), each.c_str());
    sinks.clear();
    Simulator::Destroy();
    return 0;
}
