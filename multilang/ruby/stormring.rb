# frozen_string_literal: true

# Spouts and bolts in Ruby for Stormring and for Storm: one file, nothing but
# Ruby's own library, Ruby 2.6 or newer.
#
#   require_relative 'stormring'
#
#   class Split < Storm::BasicBolt
#     def process(tup)
#       tup.values[0].split(' ').each { |word| emit([word]) }
#     end
#   end
#
#   Split.new.run
#
# The names are those of Storm's own module, so that this file can also be used
# as storm.rb. Begin at Storm::Bolt and Storm::Spout; Storm::Channel is the
# protocol.
#
# Input is read in large pieces. Output is collected and written when the input
# is used up, 2 ms after the last time, or from 64 KiB on; flush writes it now.
# What is printed goes to the worker's log and never into the protocol.

require 'json'
require 'monitor'

module Storm
  TERMINATOR = "\nend\n"
  SYNC = "{\"command\":\"sync\"}#{TERMINATOR}"
  NO_IDS = ",\"need_task_ids\":false}#{TERMINATOR}"
  WITH_IDS = "}#{TERMINATOR}" # the default of the protocol
  FULL = 1 << 16 # bytes of output that are written at once
  LATE = 0.002 # seconds that output waits at most while tuples are processed
  LONGEST_LINE = 1 << 16 # bytes of a printed line
  LEVELS = { trace: 0, debug: 1, info: 2, warn: 3, error: 4 }.freeze
  private_constant :TERMINATOR, :SYNC, :NO_IDS, :WITH_IDS, :FULL, :LATE, :LONGEST_LINE

  # A value that JSON cannot carry. It says which.
  class EmitError < StandardError; end

  # There is no state, or it could not be read.
  class StateError < StandardError; end

  # The parent sent what cannot be understood, or something is sent at a time
  # when it cannot be.
  class ProtocolError < StandardError; end

  # The pipes are closed: the way in which all components end.
  class ParentGone < SystemExit; end

  # JSON that replaces nothing silently and is ASCII whatever the locale.
  module Codec
    module_function

    def encode(value)
      case value
      when Array, Hash
        check(value)
        JSON.generate(value, ascii_only: true, max_nesting: 500)
      when String then string(value)
      else scalar(value)
      end
    rescue JSON::JSONError, EncodingError => e
      raise EmitError, e.message
    end

    def string(value)
      value = value.encode(::Encoding::UTF_8) unless value.encoding == ::Encoding::UTF_8
      raise EmitError, 'the string is not UTF-8' unless value.valid_encoding?

      JSON.generate(value, ascii_only: true)
    end

    # The values of one tuple; the error names the one that is wrong.
    def tuple(values, stream)
      raise EmitError, 'a tuple is an array of values' unless values.is_a?(Array)

      out = +'['
      values.each_with_index do |value, i|
        out << ',' if i.positive?
        out << encode(value)
      rescue EmitError => e
        raise EmitError, "value #{i} on stream #{stream || 'default'}: #{e.message}"
      end
      out << ']'
    end

    def scalar(value)
      case value
      when Integer then value.to_s
      when nil then 'null'
      when true then 'true'
      when false then 'false'
      when Float
        raise EmitError, "JSON has no #{value}" unless value.finite?

        value.to_s
      when Symbol then string(value.to_s)
      else raise EmitError, "JSON has no #{value.class}"
      end
    end

    # Array and Hash go to the library, which would print any object.
    def check(value)
      case value
      when Array then value.each { |v| check(v) }
      when Hash
        value.each do |k, v|
          raise EmitError, "the key of a map is a string, not #{k.class}" unless k.is_a?(String) || k.is_a?(Symbol)

          check(v)
        end
      when String then string(value)
      else scalar(value)
      end
    end
  end

  # The tasks that an emission went to. The parent is asked for them if somebody
  # looks at them before the emission is written, or if need_task_ids was said.
  class TaskIDs
    include Enumerable

    attr_reader :at, :asked
    attr_accessor :sent, :ids

    def initialize(channel, at, asked)
      @channel = channel
      @at = at
      @asked = asked
      @sent = false
      @ids = nil
    end

    def asked!
      @asked = true
    end

    def to_a
      @channel.await_ids(self) if @ids.nil?
      @ids
    end
    alias to_ary to_a

    def each(&block)
      to_a.each(&block)
    end

    def [](index)
      to_a[index]
    end

    def size
      to_a.size
    end
    alias length size

    def ==(other)
      to_a == other.to_a
    end

    def to_s
      to_a.to_s
    end
    alias inspect to_s
  end

  # The two pipes to the parent. Only the thread that made it sends; lines for
  # the log may come from others.
  class Channel
    attr_reader :thread

    def initialize(input, output)
      @input = input
      @output = output
      @thread = Thread.current
      @process = Process.pid
      @rest = String.new(capacity: FULL)
      @text = nil # whole messages, read up to @from
      @from = 0
      @backlog = [] # messages that came before an awaited answer
      @asked = [] # whom the next answers are for
      @out = []
      @size = 0
      @open = [] # emissions in @out whose task ids are or may be wanted
      @lines = Queue.new # for the log, from other threads
      @flushed = now
    end

    def mine?
      @thread.equal?(Thread.current) && @process == Process.pid
    end

    # Sends one or more whole messages, soon.
    def send_text(text)
      raise ProtocolError, 'only the thread that called run can emit, ack and fail' unless @thread.equal?(Thread.current)

      flush if @size > FULL
      @out << text
      @size += text.bytesize
    end

    # Sends a line for the log, from any thread.
    def log_line(text)
      if @process != Process.pid
        $stderr.write(text)
      elsif @thread.equal?(Thread.current)
        send_text(text)
      else
        @lines << text
      end
    end

    # Sends an emission; head is all but its end.
    def send_emit(head, want)
      send_text(head << (want ? WITH_IDS : NO_IDS))
      return if want == false

      ids = TaskIDs.new(self, @out.size - 1, want ? true : false)
      @open << ids
      ids
    end

    def flush
      raise ProtocolError, 'only the process and thread that called run can write' unless mine?

      settle
      @out << @lines.pop until @lines.empty?
      unless @out.empty?
        data = @out.join
        @out.clear
        @size = 0
        @output.write(data)
      end
      @flushed = now
    rescue Errno::EPIPE, Errno::ECONNRESET
      raise ParentGone
    end

    def flush_if_late
      flush if !@out.empty? && now - @flushed > LATE
    end

    def await_ids(ids)
      unless ids.asked
        raise ProtocolError, 'the emission is sent; say need_task_ids: true to know its tasks' if ids.sent

        ask_ids(ids)
      end
      flush
      step while ids.ids.nil?
    end

    # Sends a question and waits for its answer, a hash.
    def ask(text)
      send_text(text)
      flush
      answer = []
      @asked << answer
      step while answer.empty?
      raise StateError, answer[0]['error'].to_s if answer[0]['error']

      answer[0]['value']
    end

    # The next message that is no answer.
    def next_message
      return @backlog.shift unless @backlog.empty?

      while true
        message = read
        return message unless answered?(message)
      end
    end

    private

    def now
      Process.clock_gettime(Process::CLOCK_MONOTONIC)
    end

    def ask_ids(ids)
      @out[ids.at] = @out[ids.at].delete_suffix(NO_IDS) << WITH_IDS
      ids.asked!
    end

    def settle
      @open.each do |ids|
        ids.sent = true
        @asked << ids if ids.asked
      end
      @open.clear
    end

    def step
      message = read
      @backlog << message unless answered?(message)
    end

    # Hands an answer to whom it is for.
    def answered?(message)
      if message.is_a?(Array)
        raise ProtocolError, "task ids that nobody asked for: #{message}" unless @asked.first.is_a?(TaskIDs)

        @asked.shift.ids = message
        return true
      end
      return false if message.key?('command') || !(message.key?('value') || message.key?('error'))
      raise ProtocolError, 'an answer about state that nobody asked for' unless @asked.first.is_a?(Array)

      @asked.shift << message
      true
    end

    def read
      fill if @text.nil?
      at = @text.index(TERMINATOR, @from)
      text = @text.byteslice(@from, at - @from).force_encoding(::Encoding::UTF_8)
      @from = at + TERMINATOR.bytesize
      @text = nil if @from >= @text.bytesize
      JSON.parse(text, max_nesting: 1000)
    rescue JSON::ParserError => e
      raise ProtocolError, "cannot read #{text[0, 400].inspect}: #{e.message}"
    end

    # Waits for whole messages. What was sent is written before.
    def fill
      flush
      cut = nil
      until cut
        seen = [0, @rest.bytesize - TERMINATOR.bytesize].max
        @rest << @input.readpartial(1 << 18)
        # Only the new bytes can hold the end of a message.
        last = @rest.byteslice(seen, @rest.bytesize - seen).rindex(TERMINATOR)
        cut = seen + last + TERMINATOR.bytesize if last
      end
      @flushed = now
      @text = @rest.byteslice(0, cut)
      @from = 0
      @rest = @rest.byteslice(cut, @rest.bytesize - cut)
    rescue EOFError, Errno::ECONNRESET
      raise ParentGone
    end
  end

  # Stands for $stdout: each line is a message to the log.
  class LogStream
    def initialize
      @part = +''
      @lock = Monitor.new
    end

    def write(*texts)
      @lock.synchronize do
        @part << texts.join.dup.force_encoding(::Encoding::UTF_8).scrub
        @part << "\n" if @part.bytesize > LONGEST_LINE
        while (line = @part.slice!(/\A[^\n]*\n/))
          Protocol.log(line.chomp)
        end
      end
      texts.sum { |t| t.to_s.bytesize }
    end

    def finish
      @lock.synchronize { Protocol.log(@part.slice!(0..)) unless @part.empty? }
    end

    def <<(text)
      write(text)
      self
    end

    def print(*texts)
      write(*texts)
      nil
    end

    def puts(*texts)
      texts = [''] if texts.empty?
      texts.flatten.each { |t| write(t.to_s.end_with?("\n") ? t.to_s : "#{t}\n") }
      nil
    end

    def printf(format, *args)
      write(format(format, *args))
      nil
    end

    def putc(char)
      write(char.is_a?(Integer) ? (char & 255).chr : char.to_s[0])
      char
    end

    def flush
      self
    end
    alias fsync flush

    def sync
      true
    end

    def sync=(value); end

    def fileno
      1
    end
    alias to_i fileno

    def tty?
      false
    end
    alias isatty tty?
  end
  private_constant :LogStream

  # What components say to the parent. As in Storm, the methods can be called
  # in a component and on this module.
  module Protocol
    @channel = nil
    @anchor = ''
    @spout = false

    class << self
      attr_accessor :channel, :anchor, :spout

      def sender
        @channel || raise(ProtocolError, 'not connected: call run first')
      end
    end

    module_function

    # Emits from a bolt; args are :stream, :anchors or :anchor (inputs or their
    # ids), :direct (a task) and :need_task_ids. The result is the list of task
    # ids; they are fetched if it is used.
    def emit_bolt(tup, args = {})
      anchors = args[:anchors] || args[:anchor]
      anchors = anchors.nil? ? [] : [*anchors]
      rest = if anchors.empty?
               Protocol.anchor
             else
               ",\"anchors\":[#{anchors.map { |a| Protocol.id_of(a) }.join(',')}]"
             end
      Protocol.send_emit(tup, args, rest)
    end

    # Emits from a spout; args are :stream, :id (any JSON value, comes back in
    # ack or fail), :direct and :need_task_ids.
    def emit_spout(tup, args = {})
      rest = args[:id].nil? ? '' : ",\"id\":#{Codec.encode(args[:id])}"
      Protocol.send_emit(tup, args, rest)
    end

    # emit_bolt in a bolt, emit_spout in a spout.
    def emit(tup, args = {})
      Protocol.spout ? emit_spout(tup, args) : emit_bolt(tup, args)
    end

    # Emits to one task of a stream that is grouped direct.
    def emit_direct(task, tup, args = {})
      emit(tup, args.merge(direct: task))
    end

    # Says that a tuple is processed. A second time does nothing.
    def ack(tup)
      Protocol.settle('ack', tup)
    end

    # Says that a tuple could not be processed.
    def fail(tup)
      Protocol.settle('fail', tup)
    end

    # Writes to the worker's log, from any thread; level is a number from 0
    # (trace) to 4 (error), or its name.
    def log(msg, level = 2)
      number = level.is_a?(Integer) ? level : LEVELS.fetch(level.to_sym)
      text = Codec.string(msg.to_s.encode(::Encoding::UTF_8, invalid: :replace, undef: :replace).scrub)
      text = "{\"command\":\"log\",\"msg\":#{text},\"level\":#{number}}#{TERMINATOR}"
      Protocol.channel ? Protocol.channel.log_line(text) : $stderr.puts(msg)
    end

    LEVELS.each do |name, number|
      define_method("log_#{name}") { |msg| log(msg, number) }
      define_method("log#{name.capitalize}") { |msg| log(msg, number) }
      module_function "log_#{name}", "log#{name.capitalize}"
    end

    # Reports an error of this component; it is shown with the topology.
    def report_error(msg)
      text = Codec.string(msg.to_s.dup.scrub)
      Protocol.sender.send_text("{\"command\":\"error\",\"msg\":#{text}}#{TERMINATOR}")
    end

    # Storm's name of report_error.
    def reportError(msg) # rubocop:disable Naming/MethodName
      report_error(msg)
    end

    # Gives params to the metric of that name that the component registered.
    def rpc_metrics(name, params)
      Protocol.sender.send_text(
        "{\"command\":\"metrics\",\"name\":#{Codec.encode(name)},\"params\":#{Codec.encode(params)}}#{TERMINATOR}"
      )
    end

    # Answers a heartbeat, or ends the answer of a spout. run does it.
    def sync
      Protocol.sender.send_text(SYNC)
    end

    # Writes now what was emitted, for instance before a long calculation.
    def flush
      Protocol.sender.flush
    end

    class << self
      def send_emit(tup, args, rest)
        stream = args[:stream]
        head = +"{\"command\":\"emit\",\"tuple\":#{Codec.tuple(tup, stream)}#{rest}"
        head << ",\"stream\":#{Codec.encode(stream.to_s)}" unless stream.nil? || stream.to_s == 'default'
        direct = args[:direct]
        return sender.send_emit(head, args[:need_task_ids]) if direct.nil?

        sender.send_emit(head << ",\"task\":#{Integer(direct)}", false)
        [direct]
      end

      def id_of(tup)
        Codec.encode(tup.is_a?(Tuple) ? tup.id : tup)
      end

      def settle(verb, tup)
        if tup.is_a?(Tuple)
          return if tup.settled

          tup.settled = true
        end
        sender.send_text("{\"command\":\"#{verb}\",\"id\":#{id_of(tup)}}#{TERMINATOR}")
      end

      # Keeps the pipes to itself: file 1 becomes stderr, for what libraries and
      # child processes print, and file 0 is empty.
      def take_pipes
        $stdout.flush
        input = $stdin.dup.binmode
        output = STDOUT.dup.binmode
        output.sync = true
        STDOUT.reopen(STDERR)
        STDIN.reopen(File::NULL)
        $stdout = LogStream.new
        @channel = Channel.new(input, output)
      end
    end
  end

  # An input of a bolt: id is a string, component and stream tell where it comes
  # from, task from which task, values is an array.
  class Tuple
    attr_reader :id, :component, :stream, :task, :values
    attr_accessor :settled

    def initialize(id, component, stream, task, values)
      @id = id
      @component = component
      @stream = stream
      @task = task
      @values = values
      @settled = false # acked or failed
    end

    def tick?
      @component == '__system' && @stream == '__tick'
    end
    alias is_tick_tuple tick?

    def heartbeat?
      @task == -1 && @stream == '__heartbeat'
    end
    alias is_heartbeat heartbeat?
  end

  # The state of this task: any JSON value by its key, a string. It is there if
  # the component is stateful and the parent has state.
  class State
    def initialize(available)
      @available = available
    end

    def available?
      @available
    end

    # The value of key; nil if it has none.
    def get(key)
      Protocol.sender.ask(command('get', key, ''))
    end
    alias [] get

    # Sets the value of key.
    def put(key, value)
      Protocol.sender.send_text(command('put', key, ",\"value\":#{Codec.encode(value)}"))
    end
    alias []= put

    # Forgets key.
    def delete(key)
      Protocol.sender.send_text(command('delete', key, ''))
    end

    private

    def command(operation, key, rest)
      unless @available
        raise StateError, 'there is no state: the component needs stateful? to be true, and a parent that has it'
      end
      raise StateError, "a key is a string, not #{key.class}" unless key.is_a?(String)

      "{\"command\":\"state\",\"op\":\"#{operation}\",\"key\":#{Codec.encode(key)}#{rest}}#{TERMINATOR}"
    end
  end

  # What spouts and bolts have in common.
  class Component
    include Protocol

    attr_reader :state

    # True asks for state.
    def stateful?
      false
    end

    # Called when the parent has closed the pipes.
    def cleanup; end

    # Called for each step of a checkpoint; action is "prepare" before the state
    # is saved: put what is only in memory; and "rollback" when it has gone back
    # to the last checkpoint: forget what is in memory.
    def checkpoint(action, txid); end

    def activate; end

    def deactivate; end

    # Serves the parent until it closes the pipes.
    def run
      Protocol.spout = is_a?(Spout)
      storm_start(*storm_connect)
      storm_serve
    rescue ParentGone
      # Threads of the component do not keep it alive: Ruby ends them.
      cleanup
      exit(0)
    rescue SystemExit
      storm_last_words(nil)
      raise
    rescue StandardError, NotImplementedError => e
      storm_last_words(e.full_message(highlight: false))
      exit(1)
    end

    private

    def storm_wishes
      stateful? ? ['state'] : []
    end

    def storm_connect
      channel = Protocol.take_pipes
      hello = channel.next_message
      dir = hello['pidDir']
      File.write(File.join(dir, Process.pid.to_s), '') if dir && !dir.empty?
      asked = storm_wishes & (hello['stormring'] || [])
      @state = State.new(asked.include?('state'))
      wish = asked.empty? ? '' : ",\"stormring\":#{Codec.encode(asked)}"
      channel.send_text("{\"pid\":#{Process.pid}#{wish}}#{TERMINATOR}")
      channel.flush
      [hello['conf'] || {}, hello['context'] || {}]
    end

    def storm_last_words(error)
      channel = Protocol.channel
      return if channel.nil? || !channel.mine?

      report_error(error) if error
      $stdout.finish if $stdout.respond_to?(:finish)
      channel.flush
    rescue ParentGone
      nil
    ensure
      warn(error) if error
    end

    # What bolts and spouts are both told.
    def storm_command(message)
      if message.key?('checkpoint')
        checkpoint(message['checkpoint'], message['txid'])
        Protocol.channel.send_text("{\"command\":\"checkpointed\",\"txid\":#{message['txid']}}#{TERMINATOR}")
        return
      end
      case message['command']
      when 'activate' then activate
      when 'deactivate' then deactivate
      else log("a command that this adapter does not know: #{message.inspect[0, 200]}", 1)
      end
    end
  end

  # Overrides process and acks or fails each tuple itself. An error fails the
  # tuple and is reported.
  class Bolt < Component
    # Called once, before all else.
    def prepare(conf, context); end

    def process(_tup)
      raise NotImplementedError, 'process is missing'
    end

    # Called for ticks. They are acked.
    def process_tick(tup)
      process(tup)
    end

    private

    # Whether emissions are anchored and tuples acked without being asked.
    def storm_auto?
      false
    end

    def storm_start(conf, context)
      prepare(conf, context)
    end

    def storm_serve
      channel = Protocol.channel
      while true
        message = channel.next_message
        values = message['tuple']
        if values.nil?
          storm_command(message)
        else
          storm_take(Tuple.new(message['id'], message['comp'], message['stream'], message['task'], values))
        end
        channel.flush_if_late
      end
    end

    def storm_take(tup)
      return sync if tup.heartbeat?

      Protocol.anchor = ",\"anchors\":[#{Protocol.id_of(tup)}]" if storm_auto?
      tick = tup.tick?
      tick ? process_tick(tup) : process(tup)
      ack(tup) if storm_auto? || tick
    rescue ProtocolError
      raise
    rescue StandardError, NotImplementedError => e
      report_error(e.full_message(highlight: false))
      self.fail(tup)
    ensure
      Protocol.anchor = ''
    end
  end

  # A bolt whose emissions are anchored to the tuple that it processes, and
  # which acks that when process returns.
  class BasicBolt < Bolt
    private

    def storm_auto?
      true
    end
  end

  # A BasicBolt with state: see State.
  class StatefulBolt < BasicBolt
    def stateful?
      true
    end
  end

  # Overrides nextTuple (or next_tuple), ack and fail. An error is reported and
  # ends the process.
  class Spout < Component
    # Called once, before all else.
    def open(conf, context); end

    def nextTuple # rubocop:disable Naming/MethodName
      next_tuple
    end

    def next_tuple
      raise NotImplementedError, 'nextTuple is missing'
    end

    def ack(id); end

    def fail(id); end

    private

    def storm_wishes
      super + ['pipeline'] # commands are answered one by one, however many wait
    end

    def storm_start(conf, context)
      self.open(conf, context)
    end

    def storm_serve
      channel = Protocol.channel
      while true
        message = channel.next_message
        case message['command']
        when 'next' then nextTuple
        when 'ack' then ack(message['id'])
        when 'fail' then self.fail(message['id'])
        when nil then nil # a heartbeat
        else storm_command(message)
        end
        sync
        channel.flush_if_late
      end
    end
  end
end
