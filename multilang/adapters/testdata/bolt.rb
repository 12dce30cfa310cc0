require_relative 'stormring'

class Tester < Storm::StatefulBolt
  def prepare(conf, context)
    emit([conf['greeting'], context['taskid']])
  end

  def checkpoint(action, txid)
    log("#{action} #{txid}")
  end

  def process_tick(_tup)
    log('tick')
  end

  def process(tup)
    send("do_#{tup.values[0]}", tup, *tup.values[1..])
  end

  def do_echo(_tup, *values)
    emit(values)
  end

  def do_stream(_tup)
    emit(['s'], stream: 'other')
  end

  def do_direct(_tup)
    emit_direct(7, ['d'])
  end

  def do_anchors(tup)
    emit(['a'], anchors: [tup, '99'])
  end

  def do_ids(_tup)
    ids = emit(['x'])
    emit([ids.to_a])
  end

  def do_print(_tup)
    puts "na\u00efve \u2713"
    print "two\nlines"
    puts
  end

  def do_outside(_tup)
    system('echo', 'from a child')
    puts $stdin.read == '' ? 'True' : 'False'
  end

  def do_logs(_tup)
    logTrace('0')
    logDebug('1')
    log_info('2')
    log_warn('3')
    log('4', :error)
    rpc_metrics('m', { n: 1 })
    reportError('e')
  end

  def do_throw(_tup)
    raise 'on purpose'
  end

  def do_nan(_tup)
    emit([1, Float::NAN], stream: 'other')
  end

  def do_object(_tup)
    emit([1, [Object.new]])
  end

  def do_remember(_tup)
    before = state['k']
    state['k'] = { n: 1 }
    state.delete('old')
    emit([before])
  end

  def do_wild(_tup)
    state.put(5, 1)
  end

  def do_twice(tup)
    ack(tup)
  end

  def do_failing(tup)
    self.fail(tup)
  end

  def do_many(_tup, n)
    n.times { |i| emit([i, 'x' * 100]) }
  end

  def do_leave(_tup)
    emit(['bye'])
    exit(3)
  end

  # Only in Ruby.

  def do_late(_tup)
    ids = emit(['x'])
    flush
    ids.size
  end

  def do_wanted(_tup)
    @kept = emit(['x'], need_task_ids: true)
  end

  def do_shown(_tup)
    emit([@kept.to_a])
  end
end

Tester.new.run
