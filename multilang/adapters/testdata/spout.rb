require_relative 'stormring'

class Tester < Storm::Spout
  def open(_conf, _context)
    @n = 0
  end

  def nextTuple
    @n += 1
    raise 'on purpose' if @n == 4

    emit(['n', @n], id: { n: @n })
  end

  def ack(id)
    log("acked #{id['n']}")
  end

  def fail(id)
    log("failed #{id['n']}")
  end

  def activate
    log('active')
  end

  def deactivate
    log('inactive')
  end
end

Tester.new.run
